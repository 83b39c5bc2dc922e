//! Stores a value under a key.

use contract::continuity::memory::MemoryText;
use contract::domain::memory::draft::{Expiry, MemoryDraft};
use contract::domain::memory::{MemoryKind, Scope, ValueType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Set;

impl Verb for Set {
    const NAME: &'static str = "memory.set";
    const COMMAND: &'static str = "memory set";
    const SUMMARY: &'static str = "Store a value under a key";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(set);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub key: String,
    pub value: String,
    /// What the value holds; inferred from the value where it is absent.
    #[serde(default)]
    pub value_type: Option<ValueType>,
    #[serde(default = "super::global")]
    pub scope: Scope,
    /// The project, task or agent; the global scope has none.
    #[serde(default)]
    pub scope_id: Option<String>,
    /// When it expires, in RFC 3339 form.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// What kind of memory it is, and so how fast it fades. A new memory is a fact where it is absent.
    #[serde(default)]
    pub kind: Option<MemoryKind>,
    /// Fade by half in this many days, instead of the kind's own number.
    #[serde(default)]
    pub half_life_days: Option<f64>,
    /// Never let it fade or expire.
    #[serde(default)]
    pub pinned: Option<bool>,
    /// The task it was learned from.
    #[serde(default)]
    pub source_task_id: Option<String>,
    /// A duration such as `7d`, counted from the write; wins over `expires_at`.
    #[serde(default)]
    pub expires_in: Option<String>,
}

impl Request {
    /// A request with nothing but a global key and its value.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            value_type: None,
            scope: Scope::Global,
            scope_id: None,
            expires_at: None,
            kind: None,
            half_life_days: None,
            pinned: None,
            source_task_id: None,
            expires_in: None,
        }
    }

    fn draft(&self) -> Result<MemoryDraft> {
        let text = MemoryText {
            key: self.key.clone(),
            value: self.value.clone(),
            value_type: self.value_type.map(|value_type| value_type.as_str().to_owned()),
            scope: self.scope.as_str().to_owned(),
            scope_id: self.scope_id.clone(),
            expires_at: self.expires_at.clone(),
            kind: self.kind.map(|kind| kind.as_str().to_owned()),
            half_life_days: self.half_life_days,
            pinned: self.pinned,
            source_task_id: self.source_task_id.clone(),
        };
        let mut draft = text.draft()?;
        if let Some(length) = &self.expires_in {
            draft.expiry = Expiry::after(length)?;
        }
        Ok(draft)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
    pub key: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

pub fn set(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let mut draft = request.draft()?;
    draft.place = cx.memory_place(session, draft.place)?;
    cx.once(session, Set::NAME, request, |work| {
        let (event_id, memory) = super::write(work, &draft, None)?;
        Ok(Answer {
            event_id,
            scope: memory.place.scope.as_str().to_owned(),
            scope_id: memory.place.shown_id().map(str::to_owned),
            key: memory.key,
            expires_at: memory.expires_at.map(|at| at.to_string()),
        })
    })
}
