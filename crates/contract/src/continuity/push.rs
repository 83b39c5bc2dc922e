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
use crate::shape::{Described, Nullable, document};

document! {
    // Unknown fields are ignored, as the agent contract's own reader does.
    /// An event, memories, artifacts and a status in one transaction.
    #[shape(name = "push", unknown = Kept)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Push {
        /// The task; required for artifacts and a status.
        #[serde(default)]
        pub task_id: Nullable<String>,
        /// An event.
        #[serde(default)]
        pub event: Nullable<PushEvent>,
        /// Memories to store.
        #[serde(default)]
        pub memories: Nullable<Vec<MemoryText>>,
        /// Files that belong to the task.
        #[serde(default)]
        pub artifacts: Nullable<Vec<PushArtifact>>,
        /// The task's new status.
        #[serde(default)]
        pub task_status: Nullable<PushStatus>,
    }
}

document! {
    #[shape(name = "push_event", unknown = Kept)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct PushEvent {
        pub kind: String,
        pub message: String,
        /// Any JSON, or a text that holds an object or a list.
        #[serde(default)]
        pub metadata: Value,
    }
}

document! {
    #[shape(name = "push_artifact", unknown = Kept)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct PushArtifact {
        pub file_path: String,
        #[serde(default)]
        pub content_type: Nullable<String>,
    }
}

document! {
    #[shape(name = "push_task_status", unknown = Kept)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct PushStatus {
        /// pending, in_progress, completed or blocked
        pub status: String,
        #[serde(default)]
        pub summary: Nullable<String>,
        #[serde(default)]
        pub label: Nullable<String>,
        #[serde(default)]
        pub blocked_reason: Nullable<String>,
    }
}

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
        let findings = check(&Push::SHAPE, &value, false);
        if !findings.is_empty() {
            return Err(findings);
        }
        let push: Self = serde_json::from_value(value).map_err(|error| fault("type", error.to_string()))?;
        push.bounded()
    }

    /// The paths of fields in a document that a push does not have.
    pub fn ignored(value: &Value) -> Vec<String> {
        ignored(&Push::SHAPE, value)
    }

    /// The JSON Schema of the document.
    pub fn schema() -> Value {
        schema("push", &Push::SHAPE)
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

    /// An empty id counts as absent.
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

/// An event's metadata: a text that contains an object or a list is read as that.
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
