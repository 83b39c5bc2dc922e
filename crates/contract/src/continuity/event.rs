//! Events as the agent contract shows them: its kinds, and metadata without what only the store needs.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::reason;
use crate::domain::reason::Reason;
use crate::domain::status::Status;

/// Kinds that earlier versions wrote under another name, as they are printed now.
const RENAMED: [(&str, &str); 2] =
    [("task_priority", "task_priority_changed"), ("memory_deleted", "memory_delete")];

/// Kinds of claims and projects, which the store needs and the agent contract does not have.
pub const BOOKKEEPING: [&str; 3] = ["task_claimed", "task_released", "project_created"];

/// The intent of what `resume` writes for itself. It is not news to anyone.
pub const RESUME_INTENT: &str = "writ.resume";

/// Fields that mean something only to the store that wrote them.
const INTERNAL: [&str; 12] = [
    "change",
    "crew",
    "lease",
    "claim",
    "owner",
    "boot_id",
    "pid",
    "start_time",
    "token",
    "fencing",
    "shim",
    "until_millis",
];

/// What is stored of an event, as far as it decides what is printed.
#[derive(Debug, Clone, Copy)]
pub struct StoredEvent<'e> {
    pub kind: &'e str,
    pub message: &'e str,
    pub payload: &'e Value,
    /// Whether the payload is a change that the store made.
    pub is_change: bool,
    /// Whether writ said it, and not an agent.
    pub is_ours: bool,
}

/// The parts of an event that are printed in the agent contract's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    pub kind: String,
    pub message: String,
    pub metadata: Value,
}

/// How an event is printed. An agent's own event is printed as it was written.
pub fn printed(event: &StoredEvent<'_>) -> Printed {
    let StoredEvent { kind, message, payload, is_change, is_ours } = *event;
    let metadata = match kind {
        _ if is_change => changed(payload),
        "task_closed" if is_ours => closed(payload),
        _ => payload.clone(),
    };
    let message = if is_change { naming_status(message, payload) } else { message.to_owned() };
    let kind = if is_change { printed_kind(kind) } else { kind };
    Printed { kind: kind.to_owned(), message, metadata }
}

/// The kinds under which events of a printed kind are stored.
pub fn stored_kinds(kind: &str) -> Vec<String> {
    let before = RENAMED.iter().filter(|(_, now)| *now == kind).map(|(before, _)| *before);
    std::iter::once(kind).chain(before).map(str::to_owned).collect()
}

fn printed_kind(kind: &str) -> &str {
    RENAMED.iter().find(|(before, _)| *before == kind).map_or(kind, |(_, now)| now)
}

/// The metadata of a change.
fn changed(payload: &Value) -> Value {
    let inside = |name: &str| payload.get(name).unwrap_or(&Value::Null);
    match payload["change"].as_str().unwrap_or_default() {
        "task_created" | "task_claimed" | "task_released" | "task_deleted" | "agent_focused" => Value::Null,
        "task_moved" => moved(payload),
        "task_prioritized" => picked(payload, &["priority"]),
        "dependency_added" | "dependency_removed" => picked(payload, &["depends_on"]),
        "project_added" => picked(payload, &["project_id", "name"]),
        "memory_set" => picked(inside("memory"), &["key", "value_type", "scope", "scope_id", "expires_at"]),
        "memory_pinned" => picked(payload, &["key", "scope", "scope_id", "pinned"]),
        "memory_deleted" => picked(payload, &["key", "scope", "scope_id"]),
        "memory_collected" => json!({"deleted": inside("ids").as_array().map_or(0, Vec::len)}),
        "artifact_added" => artifact(inside("artifact")),
        _ => without_internals(payload),
    }
}

/// The named fields that have a value; an empty text is none.
fn picked(fields: &Value, names: &[&str]) -> Value {
    let has_value = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let field = |name: &&str| Some(((*name).to_owned(), fields.get(*name).filter(has_value)?.clone()));
    Value::Object(names.iter().filter_map(field).collect())
}

/// The states of a task in the agent contract's terms.
fn moved(payload: &Value) -> Value {
    let state = |name: &str| payload[name].as_str().and_then(Status::parse);
    let mut metadata = picked(payload, &["from", "to", "evidence"]);
    for (name, status) in ["from", "to"].into_iter().filter_map(|name| Some((name, state(name)?))) {
        metadata[name] = status.continuity().into();
    }
    let stored: Option<Reason> = Reason::deserialize(&payload["reason"]).ok();
    if let Some(reason) = state("to").and_then(|to| reason::printed(to, stored.as_ref())) {
        metadata["reason"] = reason.into();
    }
    metadata
}

fn artifact(artifact: &Value) -> Value {
    let mut metadata = picked(artifact, &["file_path", "content_type"]);
    metadata["artifact_id"] = artifact["id"].clone();
    metadata
}

/// The outcome of a closed task is the status it got.
fn closed(payload: &Value) -> Value {
    let mut metadata = picked(payload, &["outcome", "summary", "label"]);
    if metadata["outcome"] == "done" {
        metadata["outcome"] = Status::Done.continuity().into();
    }
    metadata
}

/// The message of a changed status names the status.
fn naming_status(message: &str, payload: &Value) -> String {
    let to = payload["to"].as_str().filter(|_| payload["change"] == "task_moved").and_then(Status::parse);
    let Some(to) = to else { return message.to_owned() };
    let said = format!("Status changed to: {}", to.continuity());
    if message.is_empty() || message.starts_with(&said) {
        return if message.is_empty() { said } else { message.to_owned() };
    }
    format!("{said} ({message})")
}

fn without_internals(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !INTERNAL.contains(&name.as_str()));
            let kept = kept.map(|(name, value)| (name.clone(), without_internals(value)));
            Value::Object(kept.collect::<Map<String, Value>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_internals).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
