//! Agent Envelope Exchange v1: the fourteen-field envelope in which every message and event travels.

pub mod check;
pub mod evidence;
pub mod intents;
pub(crate) mod judge;
pub mod log;
pub mod parts;
pub mod print;
pub mod requires;
pub mod shape;
pub mod signing;

pub use check::{check, parse, validate};

use crate::domain::priority::Priority;
use crate::domain::time::Timestamp;
use crate::json::{Map, Value};
use crate::shape::words;

/// The one envelope version there is.
pub const VERSION: &str = "1";

/// Where control events are addressed: a logical sink, not a process.
pub const LOG_SINK: &str = "log.aocl";

words! {
    /// What an envelope is for.
    #[derive(Hash)]
    Type {
        /// Requests work; a result or an error answers it.
        Task = "task",
        Result = "result",
        /// Reports something; no answer is expected.
        Event = "event",
        /// The work did not succeed.
        Error = "error",
        /// One part of a longer stream.
        Stream = "stream",
    }
}

impl Type {
    /// Whether an envelope of this type must name the one it answers.
    pub fn is_answer(self) -> bool {
        matches!(self, Type::Result | Type::Error)
    }
}

/// One envelope. `v` is not kept: it can only be [`VERSION`].
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    pub id: String,
    /// The text it arrived with, because a signature covers it.
    pub ts: String,
    pub kind: Type,
    pub from: String,
    pub to: String,
    pub intent: String,
    pub corr: String,
    pub reply_to: Option<String>,
    pub trace: Option<Map<String, Value>>,
    pub priority: Priority,
    pub requires: Option<Map<String, Value>>,
    pub payload: Map<String, Value>,
    /// An object or a text.
    pub sig: Option<Value>,
    /// Fields this version does not know; they are ignored and passed on unchanged.
    pub extra: Map<String, Value>,
}

/// The required fields of a new envelope. The other fields start unset, and the priority is normal.
#[derive(Debug, Clone)]
pub struct EnvelopeDraft {
    pub id: String,
    pub at: Timestamp,
    pub from: String,
    pub to: String,
    pub intent: String,
    pub corr: String,
    pub payload: Map<String, Value>,
}

impl Envelope {
    /// A new envelope. A result or an error also needs `reply_to`: [`Envelope::answer`] makes those.
    pub fn new(kind: Type, draft: EnvelopeDraft) -> Self {
        Self {
            id: draft.id,
            ts: draft.at.to_string(),
            kind,
            from: draft.from,
            to: draft.to,
            intent: draft.intent,
            corr: draft.corr,
            reply_to: None,
            trace: None,
            priority: Priority::Normal,
            requires: None,
            payload: draft.payload,
            sig: None,
            extra: Map::new(),
        }
    }

    #[must_use]
    pub fn replying_to(mut self, id: impl Into<String>) -> Self {
        self.reply_to = Some(id.into());
        self
    }

    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    #[must_use]
    pub fn with_requires(mut self, requires: Map<String, Value>) -> Self {
        self.requires = Some(requires);
        self
    }

    /// The reply to this envelope: back to its sender, with its intent, correlation, trace and priority.
    #[must_use]
    pub fn answer(&self, kind: Type, id: String, at: Timestamp, payload: Map<String, Value>) -> Self {
        let draft = EnvelopeDraft {
            id,
            at,
            from: self.to.clone(),
            to: self.from.clone(),
            intent: self.intent.clone(),
            corr: self.corr.clone(),
            payload,
        };
        let mut answer = Self::new(kind, draft).replying_to(&self.id).with_priority(self.priority);
        answer.trace.clone_from(&self.trace);
        answer
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod vectors;
