//! A task in the answer of its run.

use contract::domain::attempt::{Attempt, AttemptOutcome};
use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::limits;
use contract::domain::reason::Warning;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::json::Value;
use serde_json::json;

use super::task_end;

/// The check that failed in the last attempt of a task that did not end well.
fn failed_check<'a>(task: &Task, attempts: &'a [Attempt]) -> Option<&'a CheckSeen> {
    let outcome = attempts.last().filter(|_| task.status != Status::Done)?.outcome.as_ref()?;
    first_failed(&outcome.checks)
}

/// A task's line in the answer of its run.
pub fn task_line(task: &Task, attempts: &[Attempt]) -> Value {
    let name = task.part.as_ref().map_or("", |part| part.spec.id.as_str());
    let last = attempts.last();
    let outcome = last.and_then(|last| last.outcome.as_ref());
    let took = last.and_then(|last| Some(last.ended_at?.since(last.started_at).as_millis()));
    let mut line = json!({
        "id": task.id,
        "name": name,
        "title": task.title,
        "status": task.status,
        "evidence": task.evidence,
        "reason": task.blocked_reason.as_ref().map(ToString::to_string),
        "attempts": attempts.len(),
        "exit_code": outcome.and_then(|outcome| outcome.exit_code),
        "code": task_end::code(task, attempts),
        "rule": outcome.and_then(|outcome| outcome.rule.as_deref()),
        "failed_check": failed_check(task, attempts),
        "took_ms": took.map(|ms| u64::try_from(ms).unwrap_or(0)),
    });
    if let Some(rule) = task.blocked_reason.as_ref().and_then(|reason| reason.rule) {
        line["reason_rule"] = json!(rule);
    }
    // Named where something was not in force; a long run would say the usual for every task otherwise.
    let confinement = outcome.map(|outcome| &outcome.confinement);
    if let Some(confinement) = confinement.filter(|words| words.values().any(|word| word != "on")) {
        line["confinement"] = json!(confinement);
    }
    if let Some(network) = outcome.map(|outcome| &outcome.network).filter(|visits| !visits.is_empty()) {
        line["network"] = json!(network);
    }
    if let Some(told) = outcome.and_then(|outcome| outcome.took_over.as_deref()) {
        line["took_over"] = json!(told);
    }
    if let Some(rollback) = last.and_then(|last| last.rollback.as_ref()) {
        line["rollback"] = json!(rollback);
    }
    let snapshot = outcome.and_then(|outcome| outcome.snapshot.as_ref());
    if let Some(snapshot) = snapshot.filter(|taken| taken.is_partial()) {
        line["snapshot"] = json!(snapshot);
    }
    if let Some(outside) = outcome.and_then(|outcome| outcome.outside.as_ref()) {
        line["outside"] = json!(outside);
    }
    if let Some(outcome) = outcome {
        add_claims(&mut line, outcome);
    }
    line
}

/// What the executor reported, as far as people have to know it. All of it is in the attempt.
fn add_claims(line: &mut Value, outcome: &AttemptOutcome) {
    if let Some(signal) = outcome.final_signal {
        line["final_signal"] = json!(signal);
    }
    if !outcome.checkpoints.is_empty() {
        line["checkpoints"] = json!(outcome.checkpoints);
    }
    let report = outcome.report.as_deref();
    let findings = report.map_or(&[][..], |report| &report.findings);
    if !findings.is_empty() {
        line["findings"] = json!(&findings[..findings.len().min(limits::FINDINGS_TRACED_MAX)]);
    }
    let reported = report.map_or(&[][..], |report| &report.warnings);
    let warnings = outcome.warnings.iter().map(ToString::to_string).chain(reported.iter().cloned());
    let warnings: Vec<String> = warnings.take(limits::FINDINGS_TRACED_MAX).collect();
    let coded = outcome.warnings.iter().filter(|warning| warning.code.is_some());
    let coded: Vec<&Warning> = coded.take(limits::FINDINGS_TRACED_MAX).collect();
    if !coded.is_empty() {
        line["coded_warnings"] = json!(coded);
    }
    if !warnings.is_empty() {
        line["warnings"] = json!(warnings);
    }
}
