//! Memories of agents: one value under one key in one scope, with a kind that determines how fast it fades.

pub mod draft;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::code::ErrorCode;
use super::task::Refusal;
use super::time::Timestamp;
use super::words::field_words;
use super::workspace;

field_words! {
    /// The scope of a memory.
    Scope, "scope" {
        Global = "global",
        Project = "project",
        Task = "task",
        Agent = "agent",
    }
}

field_words! {
    /// What the text of a memory holds.
    ValueType, "value type" {
        String = "string",
        Number = "number",
        Boolean = "boolean",
        Json = "json",
        Array = "array",
    }
}

field_words! {
    /// The kind of a memory, which determines how long it is relevant.
    MemoryKind, "kind" {
        Fact = "fact",
        Directive = "directive",
        Lesson = "lesson",
    }
}

impl MemoryKind {
    /// The half-life of this kind of memory, in days. `None` never fades.
    pub fn half_life_days(self) -> Option<f64> {
        match self {
            MemoryKind::Fact => Some(90.0),
            MemoryKind::Directive => None,
            MemoryKind::Lesson => Some(14.0),
        }
    }
}

/// A scope and its id; the global scope has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MemoryScope {
    pub scope: Scope,
    pub scope_id: String,
}

impl MemoryScope {
    pub fn global() -> Self {
        Self { scope: Scope::Global, scope_id: String::new() }
    }

    pub fn new(scope: &str, scope_id: Option<&str>) -> Result<Self, Refusal> {
        let refused = |message: String| Refusal::new(ErrorCode::InvalidInput, message);
        let known = Scope::named(scope)?;
        let scope_id = scope_id.unwrap_or_default();
        match (known, scope_id.is_empty()) {
            (Scope::Global, false) => Err(refused("global scope cannot have a scope_id".to_owned())),
            // Agent names ignore case.
            (Scope::Agent, false) => Ok(Self { scope: known, scope_id: scope_id.trim().to_lowercase() }),
            (Scope::Project, false) => Ok(Self { scope: known, scope_id: workspace::id(scope_id) }),
            (Scope::Global, true) | (_, false) => Ok(Self { scope: known, scope_id: scope_id.to_owned() }),
            (_, true) => Err(refused(format!("{scope} scope requires a scope_id"))),
        }
    }

    /// As the agent contract prints it.
    pub fn shown_id(&self) -> Option<&str> {
        Some(self.scope_id.as_str()).filter(|id| !id.is_empty())
    }
}

/// A memory as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewMemory {
    pub id: i64,
    #[serde(flatten)]
    pub place: MemoryScope,
    pub key: String,
    pub value: String,
    pub value_type: ValueType,
    pub kind: MemoryKind,
    /// Overrides the kind's half-life.
    pub half_life_days: Option<f64>,
    pub pinned: bool,
    pub expires_at: Option<Timestamp>,
    pub source_task_id: Option<String>,
}

/// A memory as the store has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub written: NewMemory,
    /// The event that first wrote it.
    pub source_event_id: Option<i64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// How often it was shown to an agent that resumed.
    pub access_count: i64,
    pub last_accessed_at: Option<Timestamp>,
}

impl Memory {
    /// A pinned memory does not expire.
    pub fn is_expired(&self, at: Timestamp) -> bool {
        !self.written.pinned && self.written.expires_at.is_some_and(|end| end <= at)
    }

    /// Between 0 and 1: a half after one half-life, a third after two. Pinned memories do not fade.
    pub fn relevance(&self, at: Timestamp) -> f64 {
        let half_life = self.written.half_life_days.or(self.written.kind.half_life_days());
        match half_life {
            Some(days) if !self.written.pinned => 1.0 / (1.0 + days_between(self.updated_at, at) / days),
            Some(_) | None => 1.0,
        }
    }
}

fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    const DAY: Duration = Duration::from_hours(24);
    to.since(from).as_secs_f64() / DAY.as_secs_f64()
}

/// The type that a value appears to have.
pub fn infer_type(value: &str) -> ValueType {
    match serde_json::from_str::<Value>(value) {
        Ok(Value::Number(_)) => ValueType::Number,
        Ok(Value::Bool(_)) => ValueType::Boolean,
        Ok(Value::Array(_)) => ValueType::Array,
        Ok(Value::Object(_)) => ValueType::Json,
        Ok(Value::Null | Value::String(_)) | Err(_) => ValueType::String,
    }
}

/// Whether a value matches its type.
pub fn fits_type(value: &str, value_type: ValueType) -> bool {
    let parsed = || serde_json::from_str::<Value>(value).ok();
    match value_type {
        ValueType::String => true,
        ValueType::Number => parsed().is_some_and(|value| value.is_number()),
        ValueType::Boolean => parsed().is_some_and(|value| value.is_boolean()),
        ValueType::Array => parsed().is_some_and(|value| value.is_array()),
        ValueType::Json => parsed().is_some(),
    }
}

#[cfg(test)]
mod tests;
