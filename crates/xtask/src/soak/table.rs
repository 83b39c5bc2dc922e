//! What the storms did, as lines while they run and as one table at the end.

use std::fmt::Write;
use std::time::Duration;

use super::storm::{Call, Outcome};

/// The sum of all calls of one storm.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) name: String,
    pub(super) calls: u64,
    /// The rounds of its first call.
    pub(super) usual: u64,
    /// The rounds of the calls that passed.
    pub(super) rounds: u64,
    /// The rounds of all calls. A storm that fails again and again is not asked for the same rounds forever.
    pub(super) tried: u64,
    /// The rounds of its largest call.
    pub(super) largest: u64,
    /// This machine cannot run it.
    pub(super) skipped: bool,
    pub(super) operations: u64,
    pub(super) kills: u64,
    pub(super) took: Duration,
    pub(super) last_seed: u64,
    pub(super) failures: Vec<String>,
}

impl Tally {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(super) fn add(&mut self, call: &Call, outcome: Outcome) {
        if self.calls == 0 {
            self.usual = outcome.rounds;
        }
        self.calls += 1;
        let has_failed = outcome.failure.is_some();
        let tried = if has_failed { call.rounds.unwrap_or(1) } else { outcome.rounds };
        self.rounds += if has_failed { 0 } else { outcome.rounds };
        self.tried += tried;
        self.largest = self.largest.max(tried);
        self.skipped |= outcome.skipped;
        self.operations += outcome.operations;
        self.kills += outcome.kills;
        self.took += outcome.took;
        self.last_seed = call.seed;
        self.failures.extend(outcome.failure);
    }

    pub(super) fn largest_or_sum(&self, whole: bool) -> u64 {
        if whole { self.largest } else { self.tried }
    }
}

/// One call, while others are still to come.
pub(super) fn line(name: &str, outcome: &Outcome, since: Duration) -> String {
    let word = match outcome.failure {
        Some(_) => "FAILED",
        None if outcome.skipped => "skipped",
        None => "ok",
    };
    let Outcome { rounds, took, .. } = outcome;
    format!("{:>6} s  {word:<7} {name}: {rounds} rounds in {:.1} s", since.as_secs(), took.as_secs_f64())
}

/// The table, in Markdown, so that it can be kept in a document as it is.
pub(super) fn table(tallies: &[Tally]) -> String {
    let mut text =
        String::from("| storm | calls | rounds | operations | kills | last seed | failures | time |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    let mut row = |tally: &Tally, seed: &str| {
        let Tally { name, calls, rounds, operations, kills, took, failures, .. } = tally;
        let (failed, seconds) = (failures.len(), took.as_secs());
        let name = if tally.skipped { format!("{name} (skipped)") } else { name.clone() };
        writeln!(
            text,
            "| {name} | {calls} | {rounds} | {operations} | {kills} | {seed} | {failed} | {seconds} s |"
        )
        .expect("BUG: a string can be written to");
    };
    for tally in tallies {
        row(tally, &tally.last_seed.to_string());
    }
    let mut all = Tally::new("all");
    for tally in tallies {
        all.calls += tally.calls;
        all.rounds += tally.rounds;
        all.operations += tally.operations;
        all.kills += tally.kills;
        all.took += tally.took;
        all.failures.extend(tally.failures.iter().cloned());
    }
    row(&all, "");
    text
}
