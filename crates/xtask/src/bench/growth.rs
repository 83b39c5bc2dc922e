//! The engine's own CPU time per task, in runs of very different size.

use std::process::Stdio;
use std::time::Duration;

use super::report::Report;
use super::rounds::{Micros, contender, interleave};
use super::{Bench, Setup, pipeline};
use crate::Result;

pub(super) const BENCH: Bench = Bench { name: "growth", needs: &["run"], run };

const SIZES: [(usize, &str, &str); 3] = [
    (5_000, "per task of 5,000", "per task of 5,000 that writes"),
    (500, "per task of 500", "per task of 500 that writes"),
    (50, "per task of 50", "per task of 50 that writes"),
];
/// To see that it still runs.
const QUICK: [usize; 3] = [8, 4, 2];
/// The tasks that write share these.
const DIRECTORIES: usize = 50;
/// A round starts 16,650 processes.
const ROUNDS_MAX: usize = 3;
/// What the kernel counts CPU time in, for programs: hundredths of a second on every Linux.
const TICK_US: f64 = 10_000.0;
const LOOK: Duration = Duration::from_millis(5);

fn run(setup: &Setup) -> Result<Report> {
    std::fs::create_dir_all(setup.dir.join("project")).map_err(|error| error.to_string())?;
    let mut contenders = Vec::new();
    for writes in [false, true] {
        for ((size, name, name_of_writing), quick) in SIZES.into_iter().zip(QUICK) {
            let size = if setup.quick { quick } else { size };
            let name = if writes { name_of_writing } else { name };
            contenders.push(contender(name, move |round| per_task(setup, (size, writes), round)));
        }
    }
    let series = interleave(setup.rounds.min(ROUNDS_MAX), contenders)?;
    let about = "CPU time of the engine itself, without its children, per task; a task that writes has a \
                 check, and its directory is one of 50: each look at the workspace walks the same tree";
    Ok(Report { name: BENCH.name, about, series, pairs: vec![(0, 2), (1, 2), (3, 5), (4, 5)] })
}

fn per_task(setup: &Setup, (size, writes): (usize, bool), round: usize) -> Result<Micros> {
    let word = if writes { "writes" } else { "plain" };
    let project = if writes { "project-to-write" } else { "project" };
    let failed = |error: std::io::Error| format!("could not prepare a run: {error}");
    std::fs::create_dir_all(setup.dir.join(project)).map_err(failed)?;
    let (plan, db) = (format!("growth-{word}-{size}.toml"), format!("growth-{word}-{size}-{round}.db"));
    let workspace = setup.path(project);
    let text = if writes { writing(size, &workspace) } else { pipeline::plan((size, 1), "on", &workspace) };
    std::fs::write(setup.dir.join(&plan), text).map_err(failed)?;
    let tasks = f64::from(u32::try_from(size).expect("BUG: a few thousand"));
    Ok(own_cpu(setup.writ(&db, &["run", &setup.path(&plan)]).command())? / tasks)
}

/// A plan of tasks that each write a file, and have a check for it. The tree has the same size for every
/// number of tasks: a look at the workspace costs what the tree is, however many tasks there are.
fn writing(count: usize, workspace: &str) -> String {
    let head = format!("objective = \"measure the engine\"\nworkspace = {workspace:?}\nmax_parallel = 1\n");
    let task = |number: usize| {
        let place = format!("d{}", number % DIRECTORIES);
        let earlier = number.checked_sub(DIRECTORIES).filter(|earlier| *earlier > 0);
        let waits = earlier.map(|earlier| format!("depends_on = [\"t{earlier}\"]\n")).unwrap_or_default();
        format!(
            "\n[[task]]\nid = \"t{number}\"\ncommand = \"mkdir -p {place}; echo {number} > {place}/f\"\nshell = true\n\
             writes = [\"{place}\"]\n{waits}[[task.checks]]\ncommand = [\"test\", \"-s\", \"{place}/f\"]\n"
        )
    };
    head + &(1..=count).map(task).collect::<String>()
}

/// The CPU time of a process without that of its children, read after it exits and before it is reaped.
fn own_cpu(mut command: std::process::Command) -> Result<Micros> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("could not start writ: {error}"))?;
    let path = format!("/proc/{}/stat", child.id());
    let ticks = loop {
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("could not read {path}: {error}"))?;
        let (state, ticks) = parsed(&text).ok_or_else(|| format!("{path} has an unknown form"))?;
        if state == 'Z' {
            break ticks;
        }
        std::thread::sleep(LOOK);
    };
    let status = child.wait().map_err(|error| format!("could not wait for writ: {error}"))?;
    if status.success() { Ok(ticks * TICK_US) } else { Err(format!("`writ run` failed: {status}")) }
}

/// The state, and the sum of user and system time.
pub(super) fn parsed(stat: &str) -> Option<(char, f64)> {
    // The name may contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u32>().ok().map(f64::from);
    Some((fields.first()?.chars().next()?, ticks(11)? + ticks(12)?))
}
