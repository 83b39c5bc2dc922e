//! `cargo xtask ci`: runs every check in a fixed order and shows how long each took.

use std::time::{Duration, Instant};

use crate::job::{Job, knows, root, target_dir};
use crate::{Result, agents, bench, test, tidy};

pub(crate) const ABOUT: &str = "\
Run every check: format, tidy, clippy, tests, agents, benchmarks, instruction counts, conformance

All steps run even if one fails; a summary at the end lists them all. The agents step installs real
agent programs from npm (`cargo xtask test --help`). The conformance step
runs if there is a folder of test vectors beside the checkout, and the instruction step if valgrind
and sqlite3 are installed (as root on Debian they are installed first).";

/// Test vectors beside the checkout. A fresh clone has none and does not need them.
const VECTORS: &str = "../shared/vectors";

type Step = fn() -> Outcome;

enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

pub(crate) fn run(args: &[String]) -> Result {
    if let Some(word) = args.first() {
        return Err(format!("unexpected argument `{word}`"));
    }
    let steps: [(&str, Step); 8] = [
        ("fmt", || job(&Job::cargo(&["fmt", "--all", "--check"]))),
        ("tidy", || result(tidy::run(&[]))),
        ("clippy", || result(clippy().iter().try_for_each(Job::run))),
        ("test", || result(test::run_workspace(true, &[]))),
        ("agents", real_agents),
        ("bench", quick_bench),
        ("instructions", instructions),
        ("conformance", conformance),
    ];
    let mut done = Vec::new();
    for (name, step) in steps {
        println!("== {name}");
        let started = Instant::now();
        let outcome = step();
        if let Outcome::Failed(message) = &outcome {
            eprintln!("{message}");
        }
        done.push((name, started.elapsed(), outcome));
    }
    println!("== summary\n{}", summary(&done));
    let failed = failed(&done);
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn summary(done: &[(&str, Duration, Outcome)]) -> String {
    let mut lines = Vec::new();
    for (name, took, outcome) in done {
        let word = match outcome {
            Outcome::Passed => "ok".to_owned(),
            Outcome::Skipped(why) => format!("not run: {why}"),
            Outcome::Failed(_) => "FAILED".to_owned(),
        };
        lines.push(format!("{name:<12} {:>7.1} s  {word}", took.as_secs_f64()));
    }
    let total: Duration = done.iter().map(|(_, took, _)| *took).sum();
    let failures = failed(done).len();
    let verdict = if failures == 0 { "all checks passed".to_owned() } else { format!("{failures} failed") };
    lines.push(format!("ci: {verdict} in {:.1} s", total.as_secs_f64()));
    lines.join("\n")
}

fn failed<'a>(done: &[(&'a str, Duration, Outcome)]) -> Vec<&'a str> {
    done.iter()
        .filter(|(_, _, outcome)| matches!(outcome, Outcome::Failed(_)))
        .map(|(name, _, _)| *name)
        .collect()
}

/// The agents suite has `test = false`, which `--all-targets` leaves out.
fn clippy() -> [Job; 2] {
    [&["--workspace", "--all-targets"][..], &["-p", "cli", "--test", "agents"]]
        .map(|targets| Job::cargo(&["clippy"]).args(targets).args(&["--", "-D", "warnings"]))
}

/// The tests with real agent programs.
fn real_agents() -> Outcome {
    match agents::unsupported() {
        Some(reason) => Outcome::Skipped(reason.to_owned()),
        None => result(test::run_agents(true, &[])),
    }
}

/// Finds a benchmark that no longer runs.
fn quick_bench() -> Outcome {
    if !bench::can_run_quickly() {
        return Outcome::Skipped("this `writ` lacks a command that the benchmarks call".to_owned());
    }
    result(bench::run(&["--quick".to_owned()]))
}

/// Fails when a command takes over 5 % more instructions than the stored count.
fn instructions() -> Outcome {
    let missing = bench::instructions::missing_programs();
    if !missing.is_empty() {
        return Outcome::Skipped(format!("{} not installed", missing.join(" and ")));
    }
    match bench::instructions::check() {
        Ok(bench::instructions::Outcome::Passed) => Outcome::Passed,
        Ok(bench::instructions::Outcome::NotCompared(reason)) => Outcome::Skipped(reason),
        Err(message) => Outcome::Failed(message),
    }
}

fn conformance() -> Outcome {
    if !root().join(VECTORS).is_dir() {
        return Outcome::Skipped(format!("there is no {VECTORS} beside this checkout"));
    }
    if let Err(message) = Job::cargo(&["build", "--quiet", "--bin", "writ"]).run() {
        return Outcome::Failed(message);
    }
    let writ = target_dir().join("debug/writ");
    if !knows(&writ, &["conformance"]) {
        return Outcome::Skipped("this `writ` has no `conformance` command yet".to_owned());
    }
    job(&Job::new(&writ.display().to_string(), &["conformance", "run", VECTORS]))
}

fn job(job: &Job) -> Outcome {
    result(job.run())
}

fn result(result: Result) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed,
        Err(message) => Outcome::Failed(message),
    }
}

#[cfg(test)]
mod tests;
