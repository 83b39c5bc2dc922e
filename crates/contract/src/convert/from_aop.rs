//! AOP messages as operator documents and as AEE envelopes.

mod envelope;
mod packet;

use serde_json::{Value, json};

use super::ConvertContext;
use super::source::ConvertSource;
use crate::digest::uuid_for;
use crate::domain::crew::task_ref::TaskRef;
use crate::operator::{RunId, SCHEMA_VERSION};

pub(super) use envelope::{event as aee_event, task as aee_task};
pub(super) use packet::assignment;

/// A RESPONSE as a result.
pub(super) fn result(source: &mut ConvertSource<'_>, _: &ConvertContext) -> Value {
    take_header(source);
    let run_id = run_id(source, "/session_id");
    let task_id = task_id(source, "/task_id");
    let status = status(source);
    let worklog = source.text("/extensions/x_worklog_path").map(str::to_owned);
    let mut result = json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "task_id": task_id,
        "status": status,
        "changes": changes(source),
        "worklog_path": worklog.unwrap_or_else(|| format!("worklogs/{task_id}.jsonl")),
        "notes_for_orchestrator": notes(source),
    });
    result["acceptance_check"] = json!(acceptance(source, status));
    if let Some(at) = source.text("/extensions/x_generated_at") {
        result["generated_at"] = at.into();
    }
    for (name, value) in source.extensions("/extensions") {
        if !["x_status", "x_notes", "x_worklog_path", "x_generated_at"].contains(&name.as_str()) {
            result[name] = value;
        }
    }
    result
}

/// Marks header fields as used: the result has its own header.
fn take_header(source: &mut ConvertSource<'_>) {
    for implied in ["/aop_version", "/schema_version", "/protocol_family", "/message_type"] {
        source.take(implied);
    }
}

/// A session that is named by a UUID is the run; any other name maps to a UUID that is always the same.
fn run_id(source: &mut ConvertSource<'_>, pointer: &str) -> String {
    let session = source.text(pointer).unwrap_or_default();
    if RunId::parse(session).is_some() {
        return session.to_owned();
    }
    let run_id = uuid_for(session);
    source.lose(pointer, format!("a run id must be a UUID; it became {run_id}"));
    run_id
}

fn task_id(source: &mut ConvertSource<'_>, pointer: &str) -> String {
    let name = source.text(pointer).unwrap_or_default();
    if TaskRef::parse(name).is_some() {
        return name.to_owned();
    }
    let task_id = uuid_for(name);
    source.lose(pointer, format!("a task id must be `T-` and a number, or a UUID; it became {task_id}"));
    task_id
}

/// Only a full success is `done`.
fn status(source: &mut ConvertSource<'_>) -> &'static str {
    let said = source.text("/extensions/x_status");
    let state = source.text("/task_status/state").unwrap_or_default();
    let signal = source.text("/task_status/final_signal").unwrap_or("SUCCESS");
    source.take("/task_status/message");
    let failed_checkpoint = (0..source.count("/checkpoint_results"))
        .any(|index| source.peek(&format!("/checkpoint_results/{index}/status")) != Some(&json!("PASS")));
    match (state, signal) {
        ("COMPLETED", "SUCCESS") if !failed_checkpoint => "done",
        ("ABORTED", _) if said == Some("blocked") => "blocked",
        ("FAILED", _) => "failed",
        ("COMPLETED", _) => {
            source.lose("/task_status/final_signal", "a partial success became `blocked`");
            "blocked"
        }
        (state, _) => {
            source.lose("/task_status/state", format!("{state} is `blocked` there"));
            "blocked"
        }
    }
}

fn changes(source: &mut ConvertSource<'_>) -> Vec<Value> {
    let mut changes = Vec::new();
    for index in 0..source.count("/execution_summary/output_artifacts") {
        let at = |name: &str| format!("/execution_summary/output_artifacts/{index}/{name}");
        let status = source.text(&at("status")).unwrap_or_default().to_lowercase();
        let action = source.text(&at("extensions/x_action")).map_or(status, str::to_owned);
        source.take(&at("type"));
        let mut change = json!({"resource": source.text(&at("path")), "action": action});
        if let Some(evidence) = source.text(&at("extensions/x_evidence")) {
            change["evidence"] = evidence.into();
        }
        changes.push(change);
    }
    changes
}

/// At most five, as the contract says; the rest is reported as lost.
fn notes(source: &mut ConvertSource<'_>) -> Vec<String> {
    const NOTES_MAX: usize = 5;
    let summary = source.text("/execution_summary/summary").unwrap_or_default();
    source.take("/execution_summary/actions");
    if source.peek("/extensions/x_notes").is_some() {
        return source.texts("/extensions/x_notes");
    }
    let lines: Vec<String> =
        summary.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if lines.len() <= NOTES_MAX {
        return lines;
    }
    source.lose(
        "/execution_summary/summary",
        format!("only {NOTES_MAX} notes are allowed; the rest was dropped"),
    );
    lines[..NOTES_MAX].to_vec()
}

/// Checkpoints become the criteria. A success without checkpoints uses the executor's summary as evidence.
fn acceptance(source: &mut ConvertSource<'_>, status: &str) -> Vec<Value> {
    let mut checks = Vec::new();
    for index in 0..source.count("/checkpoint_results") {
        let at = |name: &str| format!("/checkpoint_results/{index}/{name}");
        let id = source.text(&at("checkpoint_id")).unwrap_or_default();
        let criterion = source.text(&at("notes")).filter(|notes| !notes.trim().is_empty()).unwrap_or(id);
        let passed = source.text(&at("status")) == Some("PASS");
        let mut evidence = source.texts(&at("evidence"));
        evidence.extend(source.text(&at("validation_output")).map(str::to_owned));
        let evidence = if evidence.is_empty() { format!("checkpoint {id}") } else { evidence.join("\n") };
        let word = if passed { "pass" } else { "fail" };
        checks.push(json!({"criterion": criterion, "status": word, "evidence": evidence}));
    }
    if checks.is_empty() && status == "done" {
        let evidence = source.text("/execution_summary/summary").unwrap_or("SUCCESS");
        checks.push(json!({"criterion": "reported as done", "status": "pass", "evidence": evidence}));
    }
    checks
}
