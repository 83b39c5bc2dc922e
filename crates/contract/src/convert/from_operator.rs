//! Operator documents as AOP messages.

use serde_json::{Map, Value, json};

use super::ConvertContext;
use super::source::ConvertSource;
use crate::aop::header::{AOP_VERSION, SCHEMA_VERSION};

/// An assignment as a TASK. Criteria become checkpoints, the lock scope becomes the paths that may be written.
pub(super) fn task(source: &mut ConvertSource<'_>, context: &ConvertContext) -> Value {
    for implied in ["/schema_version", "/packet_type", "/required_output_schema"] {
        source.take(implied);
    }
    let created_at = source.text("/generated_at").map_or_else(|| context.now.to_string(), str::to_owned);
    let session = json!({
        "session_id": source.text("/run_id"),
        "created_at": created_at,
        "orchestrator": "operator",
        "origin": "OPERATOR",
    });
    let priority = source.text("/task/priority").unwrap_or("normal").to_uppercase();
    let extensions = task_extensions(source);
    let work = json!({
        "task_id": source.text("/task/task_id"),
        "objective": source.text("/task/title"),
        "category": "OTHER",
        "complexity": "MEDIUM",
        "priority": priority,
        "environment": {"workspace_root": context.root.unwrap_or(".")},
        "inputs": inputs(source),
        "access": {"filesystem": {"write_paths": source.texts("/task/lock_scope")}},
        "extensions": extensions,
    });
    json!({
        "aop_version": AOP_VERSION,
        "schema_version": SCHEMA_VERSION,
        "protocol_family": "AOP",
        "message_type": "TASK",
        "session": session,
        "target": {"agent_name": "subagent", "role": "EXECUTOR", "provider": "OTHER", "model": ""},
        "task": work,
        "execution_policy": {
            "timeout_seconds": source.number("/task/timeout_seconds"),
            "heartbeat": {
                "enabled": true,
                "interval_seconds": source.number("/task/heartbeat_interval_seconds"),
            },
        },
        "phases": [phase(source)],
    })
}

/// Values without an AOP member become extensions, which AOP readers keep.
fn task_extensions(source: &mut ConvertSource<'_>) -> Map<String, Value> {
    let mut extensions = source.extensions("");
    extensions.extend(source.extensions("/task"));
    extensions.remove("x_checks");
    for (name, pointer) in [
        ("x_global_objective", "/global_objective"),
        ("x_type", "/task/type"),
        ("x_depends_on", "/task/dependencies"),
        ("x_forbidden_scope", "/task/forbidden_scope"),
        ("x_worklog_path", "/task/worklog_path"),
    ] {
        if let Some(value) = source.take(pointer) {
            extensions.insert(name.to_owned(), value.clone());
        }
    }
    extensions
}

fn inputs(source: &mut ConvertSource<'_>) -> Vec<Value> {
    let mut inputs = Vec::new();
    for index in 0..source.count("/context_package") {
        let at = |name: &str| format!("/context_package/{index}/{name}");
        let kind = source.text(&at("kind")).unwrap_or_default().to_uppercase();
        let value = source.text(&at("value")).unwrap_or_default();
        inputs.push(match kind.as_str() {
            "FILE" => json!({"type": kind, "path": value, "read_only": true}),
            _ => json!({"type": kind, "content": value}),
        });
    }
    inputs
}

/// One checkpoint per criterion; a check that decides it becomes the checkpoint's validation.
fn phase(source: &mut ConvertSource<'_>) -> Value {
    let checks: Vec<Value> =
        source.take("/task/x_checks").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut checkpoints = Vec::new();
    for (index, criterion) in source.texts("/task/acceptance_criteria").into_iter().enumerate() {
        let mut checkpoint = json!({"checkpoint_id": format!("C-{}", index + 1), "description": criterion});
        if let Some(check) = checks.iter().find(|check| check["criterion"] == criterion.as_str()) {
            checkpoint["validation"] = validation(check);
        }
        checkpoints.push(checkpoint);
    }
    json!({
        "phase_id": "P-1",
        "phase_order": 1,
        "label": "Task",
        "objective": "Meet the acceptance criteria",
        "checkpoints": checkpoints,
    })
}

fn validation(check: &Value) -> Value {
    let words: Vec<&str> =
        check["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let command = match (check["shell"].as_bool(), words.as_slice()) {
        (Some(true), [script]) => (*script).to_owned(),
        // An argument with a NUL can be neither quoted nor passed to a program.
        _ => shlex::try_join(words.iter().copied()).unwrap_or_default(),
    };
    json!({"command": command, "expects": check["expects"].as_str().unwrap_or("EXIT_CODE_0")})
}

/// A result as a RESPONSE. AOP has no state `blocked`; it becomes ABORTED with a note.
pub(super) fn response(source: &mut ConvertSource<'_>, _: &ConvertContext) -> Value {
    source.take("/schema_version");
    let status = source.text("/status").unwrap_or_default();
    let (state, signal) = match status {
        "done" => ("COMPLETED", "SUCCESS"),
        "failed" => ("FAILED", "FAILURE"),
        _ => ("ABORTED", "ABORTED"),
    };
    let notes = source.texts("/notes_for_orchestrator");
    let summary = if notes.is_empty() { status.to_owned() } else { notes.join("\n") };
    let mut extensions = source.extensions("");
    extensions.insert("x_status".to_owned(), status.into());
    extensions.insert("x_notes".to_owned(), json!(notes));
    for (name, pointer) in [("x_worklog_path", "/worklog_path"), ("x_generated_at", "/generated_at")] {
        if let Some(value) = source.take(pointer) {
            extensions.insert(name.to_owned(), value.clone());
        }
    }
    let (actions, artifacts) = changes(source);
    json!({
        "aop_version": AOP_VERSION,
        "schema_version": SCHEMA_VERSION,
        "protocol_family": "AOP",
        "message_type": "RESPONSE",
        "session_id": source.text("/run_id"),
        "task_id": source.text("/task_id"),
        "agent": {"name": "subagent", "provider": "OTHER", "model": ""},
        "task_status": {"state": state, "final_signal": signal, "message": status},
        "execution_summary": {"summary": summary, "actions": actions, "output_artifacts": artifacts},
        "checkpoint_results": checkpoint_results(source),
        "extensions": extensions,
    })
}

fn changes(source: &mut ConvertSource<'_>) -> (Vec<String>, Vec<Value>) {
    let mut actions = Vec::new();
    let mut artifacts = Vec::new();
    for index in 0..source.count("/changes") {
        let at = |name: &str| format!("/changes/{index}/{name}");
        let resource = source.text(&at("resource")).unwrap_or_default();
        let action = source.text(&at("action")).unwrap_or_default();
        let status = match action.to_lowercase().as_str() {
            "add" | "added" | "create" | "created" | "new" => "CREATED",
            "delete" | "deleted" | "remove" | "removed" => "DELETED",
            _ => "UPDATED",
        };
        let mut extensions = json!({ "x_action": action });
        if let Some(evidence) = source.text(&at("evidence")) {
            extensions["x_evidence"] = evidence.into();
        }
        actions.push(format!("{action} {resource}"));
        artifacts.push(json!({"type": "FILE", "path": resource, "status": status, "extensions": extensions}));
    }
    if actions.is_empty() {
        actions.push("changed nothing".to_owned());
    }
    (actions, artifacts)
}

fn checkpoint_results(source: &mut ConvertSource<'_>) -> Vec<Value> {
    let mut results = Vec::new();
    for index in 0..source.count("/acceptance_check") {
        let at = |name: &str| format!("/acceptance_check/{index}/{name}");
        let passed = source.text(&at("status")) == Some("pass");
        results.push(json!({
            "checkpoint_id": format!("C-{}", index + 1),
            "status": if passed { "PASS" } else { "FAIL" },
            "evidence": source.text(&at("evidence")).into_iter().collect::<Vec<_>>(),
            "notes": source.text(&at("criterion")),
        }));
    }
    results
}
