//! The document of a push: an event, memories, artifacts and a task status, written together.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::memory::MemoryText;
use crate::domain::limits;
use crate::finding::Findings;
use crate::json::strict;
use crate::shape::check::check;
use crate::shape::ignored::ignored;
use crate::shape::schema::schema;
use crate::shape::{List, Object, Shape, TEXT, UNBOUNDED, Unknown, optional, required};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Push {
    #[serde(default)]
    pub task_id: Option<String>,
    #[serde(default)]
    pub event: Option<PushEvent>,
    #[serde(default)]
    pub memories: Option<Vec<MemoryText>>,
    #[serde(default)]
    pub artifacts: Option<Vec<PushArtifact>>,
    #[serde(default)]
    pub task_status: Option<PushStatus>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PushEvent {
    pub kind: String,
    pub message: String,
    /// Any JSON, or a text that holds an object or a list.
    #[serde(default)]
    pub metadata: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PushArtifact {
    pub file_path: String,
    #[serde(default)]
    pub content_type: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PushStatus {
    pub status: String,
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub blocked_reason: Option<String>,
}

const OPTIONAL_TEXT: Shape = Shape::Nullable(&TEXT);

/// Unknown fields are ignored, as the agent contract's own reader does.
pub static PUSH: Object = Object {
    name: "push",
    about: "What an agent writes down in one piece.",
    fields: &[
        optional("task_id", OPTIONAL_TEXT, "The task it is about; artifacts and a status need one."),
        optional("event", Shape::Nullable(&Shape::Object(&EVENT)), "Something that happened."),
        optional("memories", Shape::Nullable(&MEMORIES), "What is to be remembered."),
        optional("artifacts", Shape::Nullable(&ARTIFACTS), "Files that belong to the task."),
        optional("task_status", Shape::Nullable(&Shape::Object(&STATUS)), "Where the task is now."),
    ],
    unknown: Unknown::Kept,
};

static EVENT: Object = Object {
    name: "push_event",
    about: "",
    fields: &[
        required("kind", TEXT, ""),
        required("message", TEXT, ""),
        optional("metadata", Shape::Anything, "Any JSON, or a text that holds an object or a list."),
    ],
    unknown: Unknown::Kept,
};

const MEMORIES: Shape = Shape::List(&List { item: Shape::Object(&MEMORY), min: 0, max: UNBOUNDED });
const ARTIFACTS: Shape = Shape::List(&List { item: Shape::Object(&ARTIFACT), min: 0, max: UNBOUNDED });

static MEMORY: Object = Object {
    name: "push_memory",
    about: "",
    fields: &[
        required("key", TEXT, ""),
        required("value", TEXT, "Always a text; its type says what is in it."),
        optional("value_type", OPTIONAL_TEXT, ""),
        required("scope", TEXT, "global, project, task or agent"),
        optional("scope_id", OPTIONAL_TEXT, ""),
        optional("expires_at", OPTIONAL_TEXT, "A time in RFC 3339 form."),
        optional("kind", OPTIONAL_TEXT, "fact, directive or lesson"),
        optional("half_life_days", Shape::Nullable(&ANY_NUMBER), ""),
        optional("pinned", Shape::Nullable(&Shape::Bool), ""),
        optional("source_task_id", OPTIONAL_TEXT, ""),
    ],
    unknown: Unknown::Kept,
};

const ANY_NUMBER: Shape = Shape::Number { min: f64::MIN, max: f64::MAX };

static ARTIFACT: Object = Object {
    name: "push_artifact",
    about: "",
    fields: &[required("file_path", TEXT, ""), optional("content_type", OPTIONAL_TEXT, "")],
    unknown: Unknown::Kept,
};

static STATUS: Object = Object {
    name: "push_task_status",
    about: "",
    fields: &[
        required("status", TEXT, "pending, in_progress, completed or blocked"),
        optional("summary", OPTIONAL_TEXT, ""),
        optional("label", OPTIONAL_TEXT, ""),
        optional("blocked_reason", OPTIONAL_TEXT, ""),
    ],
    unknown: Unknown::Kept,
};

impl Push {
    /// Parses a document of at most the allowed length. What is in it is checked by [`Push::of`].
    pub fn parse(bytes: &[u8]) -> Result<Value, Findings> {
        if bytes.len() > limits::DOCUMENT_BYTES_MAX {
            let message = format!("is longer than {} bytes", limits::DOCUMENT_BYTES_MAX);
            return Err(fault("too_large", message));
        }
        strict::parse(bytes).map_err(|malformed| {
            let place = format!("line {}, column {}", malformed.line, malformed.column);
            fault("parse", format!("{place}: {}", malformed.message))
        })
    }

    /// Reads a parsed document, or finds every fault in it.
    pub fn of(value: Value) -> Result<Self, Findings> {
        let findings = check(&Shape::Object(&PUSH), &value, false);
        if !findings.is_empty() {
            return Err(findings);
        }
        let push: Self = serde_json::from_value(value).map_err(|error| fault("type", error.to_string()))?;
        push.bounded()
    }

    /// The paths of fields in a document that a push does not have.
    pub fn ignored(value: &Value) -> Vec<String> {
        ignored(&Shape::Object(&PUSH), value)
    }

    /// The JSON Schema of the document.
    pub fn schema() -> Value {
        schema("push", &Shape::Object(&PUSH))
    }

    fn bounded(self) -> Result<Self, Findings> {
        let mut findings = Findings::default();
        let max = limits::PUSH_ITEMS_MAX;
        for (name, items) in [("memories", self.memories().len()), ("artifacts", self.artifacts().len())] {
            if items > max {
                findings.push(format!("$.{name}"), "too_large", format!("allows at most {max}, has {items}"));
            }
        }
        if findings.is_empty() { Ok(self) } else { Err(findings) }
    }

    /// Empty ids count as not given.
    pub fn task_id(&self) -> Option<&str> {
        self.task_id.as_deref().filter(|id| !id.is_empty())
    }

    pub fn memories(&self) -> &[MemoryText] {
        self.memories.as_deref().unwrap_or_default()
    }

    pub fn artifacts(&self) -> &[PushArtifact] {
        self.artifacts.as_deref().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.event.is_none()
            && self.memories().is_empty()
            && self.artifacts().is_empty()
            && self.task_status.is_none()
    }
}

/// An event's metadata: a text that holds an object or a list stands for what it holds.
pub fn metadata(given: &Value) -> Value {
    match given {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            strict::parse(text.as_bytes()).unwrap_or_else(|_| given.clone())
        }
        other => other.clone(),
    }
}

fn fault(rule: &'static str, message: String) -> Findings {
    let mut findings = Findings::default();
    findings.push("$", rule, message);
    findings
}

#[cfg(test)]
mod tests;
