//! `cargo xtask bench --instructions`: how many instructions everyday commands take, counted by callgrind.
//!
//! A count depends on the program and its input, not on how busy the machine is, so it repeats to a fraction of a
//! percent where times vary by a factor of two.

mod baseline;
mod commands;

use std::collections::BTreeMap;

use crate::Result;
use crate::job::{Job, target_dir};
use crate::test;
use baseline::{Baseline, Toolchain};

/// Programs that counting needs.
const PROGRAMS: &[test::Program] = &[("valgrind", "valgrind"), ("sqlite3", "sqlite3")];

/// Instructions by command.
type Counts = BTreeMap<String, u64>;

/// Result of a comparison with the stored counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    NotCompared(String),
}

/// Installs missing programs where possible. Returns the names of those that are still missing.
pub(crate) fn missing_programs() -> Vec<&'static str> {
    test::provide(PROGRAMS).into_iter().map(|(program, _)| program).collect()
}

pub(crate) fn run(bless: bool) -> Result {
    let missing = missing_programs();
    if !missing.is_empty() {
        return Err(format!("counting instructions needs {}; install it first", missing.join(" and ")));
    }
    let counts = measure()?;
    if bless {
        return Baseline { toolchain: Toolchain::installed()?, counts }.write();
    }
    match compare(&counts)? {
        Outcome::Passed => Ok(()),
        Outcome::NotCompared(reason) => {
            println!("not compared: {reason}");
            Ok(())
        }
    }
}

/// Counts and compares; for CI.
pub(crate) fn check() -> Result<Outcome> {
    compare(&measure()?)
}

fn compare(counts: &Counts) -> Result<Outcome> {
    let Some(stored) = Baseline::read()? else {
        return Ok(Outcome::NotCompared(format!("there is no {}", baseline::PATH)));
    };
    if let Some(reason) = stored.toolchain.difference(&Toolchain::installed()?) {
        return Ok(Outcome::NotCompared(reason));
    }
    let grown = stored.grown(counts);
    if grown.is_empty() {
        return Ok(Outcome::Passed);
    }
    Err(format!(
        "{}\nif this is intended, run `cargo xtask bench --instructions --bless` and commit {}",
        grown.join("\n"),
        baseline::PATH
    ))
}

/// Counts every command several times and prints the table. The smallest count is kept.
fn measure() -> Result<Counts> {
    // The build that the tests use: the dist build takes many minutes and is not needed to notice growth.
    Job::cargo(&["build", "--quiet", "--bin", "writ"]).run()?;
    let writ = target_dir().join("debug/writ");
    let dir = target_dir().join("bench-instructions");
    let fault = |error: std::io::Error| format!("could not use {}: {error}", dir.display());
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(fault)?;
    }
    std::fs::create_dir_all(&dir).map_err(fault)?;
    let counted = commands::count_all(&writ, &dir);
    std::fs::remove_dir_all(&dir).map_err(fault)?;
    let counted = counted?;
    let least = |counts: &[u64]| counts.first().copied().unwrap_or(1);
    let insert = counted.iter().find(|(name, _)| *name == commands::INSERT).map_or(1, |(_, all)| least(all));
    let mut counts = Counts::new();
    println!("{:<16} {:>13} {:>8} {:>11}", "command", "instructions", "spread", "/ sqlite3");
    for (name, all) in counted {
        let least = least(&all);
        // The two smallest: a wait that ended late is not a property of the program.
        let spread = all.get(1).map_or(0.0, |next| percent(*next, least));
        println!("{name:<16} {least:>13} {spread:>7.3}% {:>10.2}x", float(least) / float(insert));
        counts.insert(name.to_owned(), least);
    }
    Ok(counts)
}

/// By how many percent a count is above another.
fn percent(count: u64, other: u64) -> f64 {
    growth(float(count) / float(other))
}

/// A ratio as growth in percent, rounded, so that exactly 5 % is 5 %.
fn growth(ratio: f64) -> f64 {
    ((ratio - 1.0) * 100_000.0).round() / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
