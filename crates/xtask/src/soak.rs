//! `cargo xtask soak`: runs the storms again and again, each time with a new seed, and prints one table.

mod storm;
mod table;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::job::target_dir;
use crate::{Result, test};
use storm::{Call, Storm};
use table::Tally;

pub(crate) const ABOUT: &str = "\
Run the storms for as long as asked, and print one table

A storm is a test whose name starts with `soak_`: it kills, cuts, swaps or floods something again and again. `cargo
xtask test` runs each of them with a few rounds. Here each runs once with these, then with more until it has forty
times as many (runs of many tasks: 10,000 and 20,000 tasks; a session: 200 kills), then all in turn, each time with a
new seed, until the time is over. A storm that has begun is finished. Fails if one of them did; its log is in target/soak. Rounds of a call that
failed are not counted, and a storm that this machine cannot run is shown as skipped.

  --minutes N    how long to begin new storms (default 10)
  --only TEXT    only storms whose name contains this";

const MINUTES: u64 = 10;
/// Longer than any storm takes. One that takes longer hangs.
const STORM_MAX: Duration = Duration::from_secs(40 * 60);
/// How many times its usual rounds a storm gets before others get more.
const FACTOR: u64 = 40;
/// At most so many times its usual rounds in one call, so that all of them have their turn.
const FACTOR_PER_CALL: u64 = 16;
/// Storms that take their rounds as the size of one thing, in one call.
const WHOLE: &[(&str, u64)] = &[
    ("soak_a_run_of_many_tasks_ends_and_can_be_read", 10_000),
    // `PLAN_TASKS_MAX`
    ("soak_a_run_of_as_many_tasks_as_are_allowed_can_be_submitted_and_read", 20_000),
    ("soak_a_session_whose_engine_is_killed_ends_like_one_that_nobody_disturbed", 200),
];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    minutes: u64,
    only: Option<String>,
}

pub(crate) fn run(args: &[String]) -> Result {
    let options = parse(args)?;
    test::run_jobs(&[test::helpers()])?;
    let mut storms = storm::all()?;
    if let Some(text) = &options.only {
        storms.retain(|storm| storm.name.contains(text.as_str()));
    }
    if storms.is_empty() {
        return Err("no storm has such a name".to_owned());
    }
    let logs = target_dir().join("soak");
    std::fs::create_dir_all(&logs).map_err(|error| format!("could not make {}: {error}", logs.display()))?;
    let tallies = soak(&storms, &logs, Duration::from_secs(options.minutes * 60))?;
    println!("\n{}", table::table(&tallies));
    let failed: Vec<String> = tallies.iter().flat_map(|tally| tally.failures.iter().cloned()).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("storms failed:\n{}", failed.join("\n"))) }
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { minutes: MINUTES, only: None };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--minutes" => {
                let number = value?.parse().ok().filter(|number| *number > 0);
                options.minutes = number.ok_or("--minutes needs a number above zero")?;
            }
            "--only" => options.only = Some(value?.clone()),
            other => return Err(format!("unknown option `{other}`")),
        }
    }
    Ok(options)
}

fn soak(storms: &[Storm], logs: &Path, length: Duration) -> Result<Vec<Tally>> {
    let begun = Instant::now();
    let mut tallies: Vec<Tally> = storms.iter().map(|storm| Tally::new(&storm.name)).collect();
    while begun.elapsed() < length && !tallies.iter().all(|tally| tally.skipped) {
        let next = next(&tallies);
        let call = Call { rounds: rounds(&tallies[next]), seed: storm::fresh_seed()?, deadline: STORM_MAX };
        let outcome = storms[next].run(&call, logs)?;
        println!("{}", table::line(&storms[next].name, &outcome, begun.elapsed()));
        tallies[next].add(&call, outcome);
    }
    Ok(tallies)
}

/// The next storm: one that has not run, then the one furthest from its goal, then the one that had the
/// least time.
fn next(tallies: &[Tally]) -> usize {
    let share = |tally: &Tally| match goal(tally) {
        _ if tally.calls == 0 => 0,
        goal if tally.largest_or_sum(is_whole(tally)) >= goal => u64::MAX,
        goal => 1 + tally.largest_or_sum(is_whole(tally)) * 1_000 / goal,
    };
    let order = tallies.iter().enumerate().min_by_key(|(_, tally)| (tally.skipped, share(tally), tally.took));
    order.map_or(0, |(index, _)| index)
}

/// The rounds of the next call; the usual ones the first time.
fn rounds(tally: &Tally) -> Option<u64> {
    if tally.calls == 0 {
        return None;
    }
    let (goal, done) = (goal(tally), tally.largest_or_sum(is_whole(tally)));
    if done >= goal {
        return None;
    }
    Some(if is_whole(tally) { goal } else { (goal - done).min(tally.usual * FACTOR_PER_CALL) })
}

fn goal(tally: &Tally) -> u64 {
    let whole = WHOLE.iter().find(|(name, _)| tally.name.ends_with(name));
    whole.map_or(tally.usual * FACTOR, |(_, size)| *size)
}

fn is_whole(tally: &Tally) -> bool {
    WHOLE.iter().any(|(name, _)| tally.name.ends_with(name))
}

#[cfg(test)]
mod tests;
