//! The engine's own CPU time per task, in runs of very different size.

use std::process::Stdio;
use std::time::Duration;

use super::report::Report;
use super::rounds::{Micros, contender, interleave};
use super::{Bench, Setup, pipeline};
use crate::Result;

pub(super) const BENCH: Bench = Bench { name: "growth", needs: &["run"], run };

const SIZES: [(usize, &str); 3] =
    [(5_000, "per task of 5,000"), (500, "per task of 500"), (50, "per task of 50")];
/// To see that it still runs.
const QUICK: [usize; 3] = [8, 4, 2];
/// A round starts 5,550 processes.
const ROUNDS_MAX: usize = 3;
/// What the kernel counts CPU time in, for programs: hundredths of a second on every Linux.
const TICK_US: f64 = 10_000.0;
const LOOK: Duration = Duration::from_millis(5);

fn run(setup: &Setup) -> Result<Report> {
    std::fs::create_dir_all(setup.dir.join("project")).map_err(|error| error.to_string())?;
    let mut contenders = Vec::new();
    for ((size, name), quick) in SIZES.into_iter().zip(QUICK) {
        let size = if setup.quick { quick } else { size };
        let plan = format!("growth-{size}.toml");
        let path = setup.dir.join(&plan);
        std::fs::write(&path, pipeline::plan(size, &setup.path("project")))
            .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        contenders.push(contender(name, move |round| {
            let db = format!("growth-{size}-{round}.db");
            let tasks = f64::from(u32::try_from(size).expect("BUG: a few thousand"));
            Ok(own_cpu(setup.writ(&db, &["run", &setup.path(&plan)]).command())? / tasks)
        }));
    }
    let series = interleave(setup.rounds.min(ROUNDS_MAX), contenders)?;
    let about = "CPU time of the engine itself, without its children, per task";
    Ok(Report { name: BENCH.name, about, series, pairs: vec![(0, 2), (1, 2)] })
}

/// The CPU time of a process without that of its children, read between its end and its burial.
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
