//! What people read about a loop.

use contract::continuity::reason::without_failure;
use engine::looping::{LoopOutcome, LoopReport};
use serde_json::Value;

use crate::output::one_line;

const NOTHING_READY: &str = "no task is ready\n";

/// A task that has ended.
pub(super) fn outcome(outcome: &LoopOutcome) -> String {
    let title = one_line(&outcome.task_title);
    let reason = outcome.reason.as_deref().and_then(|reason| {
        let first = without_failure(reason).lines().next()?.trim();
        Some(first).filter(|first| !first.is_empty())
    });
    let why = reason.map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    format!("{}  {:<12} {title}{why}\n", outcome.task_id, outcome.status)
}

/// A loop that has ended. Its tasks were printed when they ended.
pub(super) fn summary(report: &LoopReport) -> String {
    let LoopReport { completed, failed, total, duration_sec, .. } = report;
    match total {
        0 => NOTHING_READY.to_owned(),
        _ => format!("{completed} completed, {failed} failed in {duration_sec} s\n"),
    }
}

/// A dry run.
pub(super) fn planned(report: &LoopReport) -> String {
    let field = |row: &Value, name: &str| one_line(row[name].as_str().unwrap_or_default()).into_owned();
    let line = |row: &Value| {
        let words = row["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let line = shlex::try_join(words).unwrap_or_default();
        let would = if line.is_empty() { line } else { format!("  would start: {}\n", one_line(&line)) };
        format!("{}  {}\n{would}", field(row, "task_id"), field(row, "task_title"))
    };
    let tasks: String = report.results.as_array().into_iter().flatten().map(line).collect();
    match report.total {
        0 => NOTHING_READY.to_owned(),
        1 => format!("{tasks}would work on 1 task\n"),
        total => format!("{tasks}would work on {total} tasks\n"),
    }
}

#[cfg(test)]
mod tests {
    use engine::looping::LoopTally;

    use super::*;

    fn ended(status: &'static str) -> LoopOutcome {
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
    fn people_read_what_became_of_each_task_and_how_many_there_were() {
        let none = LoopTally::default().report(0.0);
        assert_eq!((summary(&none), planned(&none)), (NOTHING_READY.to_owned(), NOTHING_READY.to_owned()));
        let reason = Some("failure:the check failed\nits output".to_owned());
        let blocked = LoopOutcome { reason, ..ended("blocked") };
        assert_eq!(outcome(&blocked), "t  blocked      t: the check failed\n");
        assert_eq!(outcome(&ended("completed")), "t  completed    t\n");
        let mut tally = LoopTally::default();
        tally.add(blocked);
        assert_eq!(summary(&tally.report(2.0)), "0 completed, 1 failed in 2 s\n");
        let mut dry = LoopTally::default();
        for tasks in ["1 task", "2 tasks"] {
            dry.add(ended("dry_run"));
            assert!(planned(&dry.report(0.0)).ends_with(&format!("t  t\nwould work on {tasks}\n")));
        }
    }
}
