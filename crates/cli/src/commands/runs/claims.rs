//! What the executor of an attempt reported, and where that differs from what writ saw, for people.

use contract::domain::attempt::{Attempt, AttemptOutcome};
use contract::domain::limits;
use contract::domain::reason::Warning;
use contract::domain::report::{CheckpointStatus, ExecutorReport};

use crate::output::one_line;

/// What people have to know when a run has ended.
pub(super) fn summary(attempt: &Attempt, indent: &str) -> String {
    let Some(outcome) = &attempt.outcome else { return String::new() };
    let mut text = String::new();
    if let Some(signal) = outcome.final_signal {
        text.push_str(&format!("{indent}final signal {signal}\n"));
    }
    let is_failed = |status: CheckpointStatus| status == CheckpointStatus::Fail;
    for point in outcome.checkpoints.iter().filter(|point| is_failed(point.status)) {
        let problem = point.problem.as_deref().unwrap_or_default();
        text.push_str(&line(indent, &format!("checkpoint {} FAIL: {problem}", point.checkpoint_id)));
    }
    text.push_str(&warnings(outcome, indent));
    text.push_str(&findings(outcome, indent));
    text
}

/// The same with the passed checkpoints and the executor's own account.
pub(super) fn text(attempt: &Attempt, indent: &str) -> String {
    let Some(outcome) = &attempt.outcome else { return String::new() };
    let mut text = String::new();
    if let Some(signal) = outcome.final_signal {
        text.push_str(&format!("{indent}final signal {signal}\n"));
    }
    for point in &outcome.checkpoints {
        let problem = point.problem.as_deref().map(|problem| format!(": {problem}")).unwrap_or_default();
        text.push_str(&line(
            indent,
            &format!("checkpoint {} {}{problem}", point.checkpoint_id, point.status),
        ));
    }
    if let Some(report) = &outcome.report {
        text.push_str(&reported(report, indent));
    }
    text.push_str(&warnings(outcome, indent));
    text.push_str(&findings(outcome, indent));
    text
}

/// What the executor claims.
pub(crate) fn reported(report: &ExecutorReport, indent: &str) -> String {
    let signal = report.final_signal.map(|signal| format!(" {signal}")).unwrap_or_default();
    let message = report.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
    let mut text = line(indent, &format!("reported {}{signal}{message}", report.state));
    let lists = [("did", &report.actions), ("error", &report.errors)];
    for (word, list) in lists {
        for entry in list.iter().take(limits::FINDINGS_TRACED_MAX) {
            text.push_str(&line(indent, &format!("  {word}: {entry}")));
        }
    }
    for made in report.output_artifacts.iter().take(limits::FINDINGS_TRACED_MAX) {
        text.push_str(&line(indent, &format!("  {}: {}", made.status, made.path)));
    }
    text
}

fn warnings(outcome: &AttemptOutcome, indent: &str) -> String {
    let reported = outcome.report.iter().flat_map(|report| report.warnings.iter().map(Warning::new));
    let all = outcome.warnings.iter().cloned().chain(reported).take(limits::FINDINGS_TRACED_MAX);
    all.map(|warning| line(indent, &format!("warning: {warning}"))).collect()
}

fn findings(outcome: &AttemptOutcome, indent: &str) -> String {
    outcome.report.as_ref().map(|report| differences(report, indent)).unwrap_or_default()
}

/// Where the claims differ from what writ saw.
pub(crate) fn differences(report: &ExecutorReport, indent: &str) -> String {
    let all = report.findings.iter().take(limits::FINDINGS_TRACED_MAX);
    all.map(|found| line(indent, &format!("finding: {}", found.told()))).collect()
}

fn line(indent: &str, text: &str) -> String {
    format!("{indent}{}\n", one_line(text))
}
