//! What a loop has done so far, and when it is enough. Pure.

use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopOutcome {
    pub task_id: String,
    pub task_title: String,
    pub status: &'static str,
    /// Such as `1.2s`.
    pub duration: String,
    /// What a dry run would start; empty where something was started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Why it is not completed, for people; programs find it in the task.
    #[serde(skip)]
    pub reason: Option<String>,
}

#[derive(Debug, Default)]
pub struct LoopTally {
    outcomes: Vec<LoopOutcome>,
    consecutive_fails: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopReport {
    pub completed: usize,
    pub failed: usize,
    pub total: usize,
    pub duration_sec: f64,
    /// The contract prints none as null.
    pub results: Value,
}

impl LoopTally {
    pub fn add(&mut self, outcome: LoopOutcome) {
        if is_good(outcome.status) {
            self.consecutive_fails = 0;
        } else if is_bad(outcome.status) {
            self.consecutive_fails += 1;
        }
        self.outcomes.push(outcome);
    }

    pub fn is_enough(&self, max_tasks: usize, max_fails: u32) -> bool {
        self.completed() >= max_tasks || (max_fails > 0 && self.consecutive_fails >= max_fails)
    }

    pub fn completed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| is_good(outcome.status)).count()
    }

    pub fn report(&self, seconds: f64) -> LoopReport {
        let results = match self.outcomes.as_slice() {
            [] => Value::Null,
            outcomes => serde_json::json!(outcomes),
        };
        LoopReport {
            completed: self.completed(),
            failed: self.outcomes.iter().filter(|outcome| is_bad(outcome.status)).count(),
            total: self.outcomes.len(),
            duration_sec: rounded(seconds),
            results,
        }
    }
}

/// To the millisecond: more is noise.
pub fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn is_good(status: &str) -> bool {
    matches!(status, "completed" | "dry_run")
}

/// What was interrupted from outside is neither good nor bad.
fn is_bad(status: &str) -> bool {
    !is_good(status) && status != "interrupted"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: &'static str) -> LoopOutcome {
        LoopOutcome {
            task_id: "t".to_owned(),
            task_title: "t".to_owned(),
            status,
            duration: "0s".to_owned(),
            argv: Vec::new(),
            reason: None,
        }
    }

    #[test]
    fn fails_count_only_in_a_row_and_an_interruption_is_none() {
        let mut tally = LoopTally::default();
        for status in ["blocked", "timeout", "completed", "blocked", "interrupted", "timeout"] {
            assert!(!tally.is_enough(10, 3));
            tally.add(outcome(status));
        }
        assert!(!tally.is_enough(10, 3));
        tally.add(outcome("blocked"));
        assert!(tally.is_enough(10, 3) && !tally.is_enough(10, 0) && tally.is_enough(1, 0));
        let report = tally.report(1.23456);
        assert_eq!((report.completed, report.failed, report.total), (1, 5, 7));
        assert!((report.duration_sec - 1.235).abs() < f64::EPSILON);
        assert_eq!(LoopTally::default().report(0.0).results, Value::Null);
    }
}
