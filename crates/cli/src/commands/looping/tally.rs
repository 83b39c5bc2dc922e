//! What a loop has done so far, and when it is enough. Pure.

use serde::Serialize;
use serde_json::Value;

use crate::output::one_line;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Outcome {
    pub(super) task_id: String,
    pub(super) task_title: String,
    pub(super) status: &'static str,
    /// Such as `1.2s`.
    pub(super) duration: String,
    /// What a dry run would start; empty where something was started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) argv: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    outcomes: Vec<Outcome>,
    consecutive_fails: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) total: usize,
    pub(super) duration_sec: f64,
    /// The contract prints none as null.
    pub(super) results: Value,
}

impl Tally {
    pub(super) fn add(&mut self, outcome: Outcome) {
        if is_good(outcome.status) {
            self.consecutive_fails = 0;
        } else if is_bad(outcome.status) {
            self.consecutive_fails += 1;
        }
        self.outcomes.push(outcome);
    }

    pub(super) fn is_enough(&self, max_tasks: usize, max_fails: u32) -> bool {
        self.completed() >= max_tasks || (max_fails > 0 && self.consecutive_fails >= max_fails)
    }

    pub(super) fn completed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| is_good(outcome.status)).count()
    }

    pub(super) fn report(&self, seconds: f64) -> Report {
        let results = match self.outcomes.as_slice() {
            [] => Value::Null,
            outcomes => serde_json::json!(outcomes),
        };
        Report {
            completed: self.completed(),
            failed: self.outcomes.iter().filter(|outcome| is_bad(outcome.status)).count(),
            total: self.outcomes.len(),
            duration_sec: rounded(seconds),
            results,
        }
    }
}

impl Report {
    /// For people.
    pub(super) fn text(&self) -> String {
        let field = |row: &Value, name: &str| one_line(row[name].as_str().unwrap_or_default()).into_owned();
        let line = |row: &Value| {
            let words = row["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let line = shlex::try_join(words).unwrap_or_default();
            let would = if line.is_empty() { line } else { format!("  would start: {}\n", one_line(&line)) };
            let (id, status, title) = (field(row, "task_id"), field(row, "status"), field(row, "task_title"));
            format!("{id}  {status:<12} {title}\n{would}")
        };
        let mut text: String = self.results.as_array().into_iter().flatten().map(line).collect();
        let Report { completed, failed, duration_sec, .. } = self;
        text.push_str(&format!("{completed} completed, {failed} failed in {duration_sec} s\n"));
        text
    }
}

/// To the millisecond: more is noise.
pub(super) fn rounded(seconds: f64) -> f64 {
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

    fn outcome(status: &'static str) -> Outcome {
        Outcome {
            task_id: "t".to_owned(),
            task_title: "t".to_owned(),
            status,
            duration: "0s".to_owned(),
            argv: Vec::new(),
        }
    }

    #[test]
    fn fails_count_only_in_a_row_and_an_interruption_is_none() {
        let mut tally = Tally::default();
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
        assert_eq!(Tally::default().report(0.0).results, Value::Null);
    }
}
