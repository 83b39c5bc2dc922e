//! Memories as the agent contract writes and shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::memory::draft::{
    Expiry, MemoryDraft, checked_half_life, checked_key, checked_place, checked_value, without_secrets,
};
use crate::domain::memory::{Memory, MemoryKind};
use crate::domain::task::Refusal;
use crate::domain::time::Timestamp;
use crate::shape::{Nullable, Shape, document};

const ANY_NUMBER: Shape = Shape::Number { min: f64::MIN, max: f64::MAX };

document! {
    // A memory as a caller writes it. An empty text counts as absent.
    #[shape(name = "push_memory", unknown = Kept)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct MemoryText {
        pub key: String,
        /// Always a text; its type says what is in it.
        pub value: String,
        #[serde(default)]
        pub value_type: Nullable<String>,
        /// global, project, task or agent
        #[shape(required)]
        #[serde(default = "global")]
        pub scope: String,
        #[serde(default)]
        pub scope_id: Nullable<String>,
        /// A time in RFC 3339 form.
        #[serde(default)]
        pub expires_at: Nullable<String>,
        /// fact, directive or lesson
        #[serde(default)]
        pub kind: Nullable<String>,
        #[serde(default)]
        pub half_life_days: Nullable<f64> as Shape::Nullable(&ANY_NUMBER),
        #[serde(default)]
        pub pinned: Nullable<bool>,
        #[serde(default)]
        pub source_task_id: Nullable<String>,
    }
}

pub fn global() -> String {
    "global".to_owned()
}

impl MemoryText {
    /// Checks everything that does not depend on the time.
    pub fn draft(&self) -> Result<MemoryDraft, Refusal> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let key = checked_key(&self.key)?.to_owned();
        let place = checked_place(&self.scope, self.scope_id.as_deref())?;
        let value_type = checked_value(&self.value, self.value_type.as_deref())?;
        let source_task_id = given(&self.source_task_id);
        if let Some(id) = &source_task_id {
            checked_place("task", Some(id))?;
        }
        let source = source_task_id.as_deref().unwrap_or_default();
        without_secrets(&[&key, &self.value, &place.scope_id, source])?;
        Ok(MemoryDraft {
            place,
            key,
            value: self.value.clone(),
            value_type,
            kind: given(&self.kind).as_deref().map(MemoryKind::named).transpose()?,
            half_life_days: self.half_life_days.map(checked_half_life).transpose()?,
            pin: self.pinned == Some(true),
            expiry: given(&self.expires_at).map_or(Ok(Expiry::Never), |text| Expiry::at(&text))?,
            source_task_id,
        })
    }
}

/// A memory as the agent contract shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryView {
    pub id: i64,
    pub key: String,
    pub value: String,
    pub value_type: String,
    pub scope: String,
    /// Empty for the global scope.
    pub scope_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    pub updated_at: String,
    pub created_at: String,
    pub access_count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_accessed_at: Option<String>,
    pub pinned: bool,
    pub kind: String,
    /// Only if it differs from the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_life_days: Option<f64>,
    /// Between 0 and 1, at the time of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_event_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_task_id: Option<String>,
}

impl MemoryView {
    pub fn at(memory: &Memory, now: Timestamp) -> Self {
        let written = &memory.written;
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        MemoryView {
            id: written.id,
            key: written.key.clone(),
            value: written.value.clone(),
            value_type: written.value_type.as_str().to_owned(),
            scope: written.place.scope.as_str().to_owned(),
            scope_id: written.place.scope_id.clone(),
            expires_at: text(written.expires_at),
            updated_at: memory.updated_at.to_string(),
            created_at: memory.created_at.to_string(),
            access_count: memory.access_count,
            last_accessed_at: text(memory.last_accessed_at),
            pinned: written.pinned,
            kind: written.kind.as_str().to_owned(),
            half_life_days: written.half_life_days,
            relevance: Some(rounded(memory.relevance(now))),
            source_event_id: memory.source_event_id,
            source_task_id: written.source_task_id.clone(),
        }
    }
}

/// More digits would only reflect the duration of the request.
fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}
