//! `cargo xtask bench`: ours and its limit in the same run, taking turns, so that a busy machine slows both.

mod changes;
mod pipeline;
mod report;
mod rounds;
mod scale;
mod validate;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::job::{Job, knows, target_dir};
use report::Report;

pub(crate) const ABOUT: &str = "\
Measure against the limits of the machine

Runs all benchmarks, or those named. Contenders take turns (A, B, A, B, …); the table shows medians
and their ratios, which is what can be compared between machines. Also written to target/bench.json.
--quick does a few tiny rounds on the debug build, to see that the benchmarks still run.
--rounds N sets the number of rounds.";

/// To add one: a file beside these, and a line here.
const BENCHES: &[Bench] = &[
    changes::CREATE,
    changes::PUSH,
    changes::RESUME,
    scale::BENCH,
    pipeline::BENCH,
    validate::TASK,
    validate::EVENT,
];

struct Bench {
    name: &'static str,
    /// What `writ` has to understand for it.
    needs: &'static [&'static str],
    run: fn(&Setup) -> Result<Report>,
}

/// What a benchmark is given.
struct Setup {
    writ: PathBuf,
    /// A directory of its own, on the disk that holds the build: a memory file system would hide what a sync costs.
    dir: PathBuf,
    quick: bool,
    rounds: usize,
}

struct Asked {
    names: Vec<String>,
    quick: bool,
    rounds: Option<usize>,
}

pub(crate) fn run(args: &[String]) -> Result {
    let asked = parse(args)?;
    let chosen: Vec<&Bench> = BENCHES
        .iter()
        .filter(|bench| asked.names.is_empty() || asked.names.iter().any(|n| n == bench.name))
        .collect();
    let writ = build(asked.quick)?;
    for bench in &chosen {
        if !knows(&writ, bench.needs) {
            return Err(format!(
                "`{}` needs `writ {}`, which this writ has not",
                bench.name,
                bench.needs.join(" ")
            ));
        }
    }
    let mut reports = Vec::new();
    for bench in chosen {
        let rounds = asked.rounds.unwrap_or(if asked.quick { 2 } else { 60 });
        let report = in_fresh_directory(bench, &writ, asked.quick, rounds)?;
        println!("{report}");
        reports.push(report);
    }
    let path = target_dir().join("bench.json");
    let document =
        json!({"quick": asked.quick, "benches": reports.iter().map(Report::json).collect::<Vec<_>>()});
    std::fs::write(&path, format!("{document:#}\n"))
        .map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Whether every benchmark could run on the debug build; CI asks before it tries.
pub(crate) fn can_run_quickly() -> bool {
    let writ = target_dir().join("debug/writ");
    BENCHES.iter().all(|bench| knows(&writ, bench.needs))
}

fn parse(args: &[String]) -> Result<Asked> {
    let mut asked = Asked { names: Vec::new(), quick: false, rounds: None };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => asked.quick = true,
            "--rounds" => {
                let number = words.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
                asked.rounds = Some(number.ok_or("--rounds wants a number above zero")?);
            }
            name if BENCHES.iter().any(|bench| bench.name == name) => asked.names.push(name.to_owned()),
            other => {
                let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                return Err(format!("there is no benchmark `{other}`; there are {}", names.join(", ")));
            }
        }
    }
    Ok(asked)
}

fn build(quick: bool) -> Result<PathBuf> {
    let (profile, folder): (&[&str], _) = if quick { (&[], "debug") } else { (&["--release"], "release") };
    Job::cargo(&["build", "--quiet", "-p", "cli"]).args(profile).run()?;
    // A copy, as `cargo install` makes it. What the linker has just written lies in the page cache in small pieces, and
    // starting that measures the linker.
    let (linked, installed) = (target_dir().join(folder).join("writ"), target_dir().join("bench-writ"));
    std::fs::copy(&linked, &installed)
        .map_err(|error| format!("could not copy {}: {error}", linked.display()))?;
    Ok(installed)
}

fn in_fresh_directory(bench: &Bench, writ: &Path, quick: bool, rounds: usize) -> Result<Report> {
    let dir = target_dir().join(format!("bench-{}-{}", bench.name, std::process::id()));
    let fault = |error: std::io::Error| format!("could not use {}: {error}", dir.display());
    std::fs::create_dir_all(&dir).map_err(fault)?;
    let report = (bench.run)(&Setup { writ: writ.to_owned(), dir: dir.clone(), quick, rounds });
    std::fs::remove_dir_all(&dir).map_err(fault)?;
    report
}

impl Setup {
    /// `writ` with a store of its own and nothing of the caller's configuration.
    fn writ(&self, db: &str, args: &[&str]) -> Job {
        let home = self.dir.display().to_string();
        let job = Job::new(&self.writ.display().to_string(), args);
        job.env("WRIT_DB", &self.path(db)).env("HOME", &home).env("XDG_CONFIG_HOME", &home)
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}

/// How long the command takes from start to exit.
fn time(job: &Job) -> Result<Duration> {
    let mut command = job.command();
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let started = Instant::now();
    let status = command.status().map_err(|error| format!("could not start `{job}`: {error}"))?;
    let took = started.elapsed();
    if status.success() { Ok(took) } else { Err(format!("`{job}` failed: {status}")) }
}

/// Starting a process and waiting for its end, and nothing else: what no command can be faster than.
fn bare_process() -> Result<Duration> {
    time(&Job::new("true", &[]))
}

#[cfg(test)]
mod tests;
