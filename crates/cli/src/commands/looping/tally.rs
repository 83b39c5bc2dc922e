//! What a loop has done so far, and when it is enough. Pure.

use serde::Serialize;
use serde_json::Value;

use crate::output::one_line;

const NOTHING_READY: &str = "no task is ready\n";

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
    /// Why it is not completed, for people; programs find it in the task.
    #[serde(skip)]
    pub(super) reason: Option<String>,
}

impl Outcome {
    /// For people, when the task has ended.
    pub(super) fn line(&self) -> String {
        let title = one_line(&self.task_title);
        let reason = self.reason.as_deref().and_then(|reason| {
            let first = reason.strip_prefix("failure:").unwrap_or(reason).lines().next()?.trim();
            Some(first).filter(|first| !first.is_empty())
        });
        let why = reason.map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        format!("{}  {:<12} {title}{why}\n", self.task_id, self.status)
    }
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
    /// For people: each task was told when it ended.
    pub(super) fn text(&self) -> String {
        let Report { completed, failed, total, duration_sec, .. } = self;
        match total {
            0 => NOTHING_READY.to_owned(),
            _ => format!("{completed} completed, {failed} failed in {duration_sec} s\n"),
        }
    }

    /// For people: what a dry run would do.
    pub(super) fn planned(&self) -> String {
        let field = |row: &Value, name: &str| one_line(row[name].as_str().unwrap_or_default()).into_owned();
        let line = |row: &Value| {
            let words = row["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let line = shlex::try_join(words).unwrap_or_default();
            let would = if line.is_empty() { line } else { format!("  would start: {}\n", one_line(&line)) };
            format!("{}  {}\n{would}", field(row, "task_id"), field(row, "task_title"))
        };
        let tasks: String = self.results.as_array().into_iter().flatten().map(line).collect();
        match self.total {
            0 => NOTHING_READY.to_owned(),
            1 => format!("{tasks}would work on 1 task\n"),
            total => format!("{tasks}would work on {total} tasks\n"),
        }
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
            reason: None,
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

    #[test]
    fn people_read_what_became_of_each_task_and_how_many_there_were() {
        let none = Tally::default().report(0.0);
        assert_eq!((none.text(), none.planned()), (NOTHING_READY.to_owned(), NOTHING_READY.to_owned()));
        let reason = Some("failure:the check failed\nits output".to_owned());
        let blocked = Outcome { reason, ..outcome("blocked") };
        assert_eq!(blocked.line(), "t  blocked      t: the check failed\n");
        assert_eq!(outcome("completed").line(), "t  completed    t\n");
        let mut tally = Tally::default();
        tally.add(blocked);
        assert_eq!(tally.report(2.0).text(), "0 completed, 1 failed in 2 s\n");
        let mut planned = Tally::default();
        for tasks in ["1 task", "2 tasks"] {
            planned.add(outcome("dry_run"));
            assert!(planned.report(0.0).planned().ends_with(&format!("t  t\nwould work on {tasks}\n")));
        }
    }
}
