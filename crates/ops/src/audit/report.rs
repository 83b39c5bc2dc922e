//! The documents of the audit: where every stream ends, and what a check of the log found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where every stream of the log ended at one moment. Kept elsewhere, it makes removed events visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tip {
    pub events: i64,
    pub streams: BTreeMap<String, Head>,
    /// Of everything above.
    pub digest: String,
}

/// The last event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub seq: i64,
    pub hash: String,
}

impl From<store::Tip> for Tip {
    fn from(tip: store::Tip) -> Self {
        let head = |(name, head): (String, store::Head)| (name, Head { seq: head.seq, hash: head.hash });
        Self { events: tip.events, streams: tip.streams.into_iter().map(head).collect(), digest: tip.digest }
    }
}

impl From<Tip> for store::Tip {
    fn from(tip: Tip) -> Self {
        let head = |(name, head): (String, Head)| (name, store::Head { seq: head.seq, hash: head.hash });
        Self { events: tip.events, streams: tip.streams.into_iter().map(head).collect(), digest: tip.digest }
    }
}

/// What a check of the whole log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    pub events: i64,
    pub streams: usize,
    /// What is wrong with the file itself.
    pub damage: Vec<String>,
    /// Events that were changed.
    pub integrity: Vec<Fault>,
    /// Events that are missing.
    pub completeness: Vec<Fault>,
    /// Faults beyond the ones listed.
    pub omitted: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    pub stream: String,
    pub seq: i64,
    /// Where the fault is in one event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    pub message: String,
}

impl Verification {
    pub fn is_clean(&self) -> bool {
        self.damage.is_empty() && self.integrity.is_empty() && self.completeness.is_empty()
    }
}

impl From<store::Verification> for Verification {
    fn from(found: store::Verification) -> Self {
        let fault = |fault: store::Fault| {
            let store::Fault { stream, seq, event_id, message } = fault;
            Fault { stream, seq, event_id, message }
        };
        Self {
            events: found.events,
            streams: found.streams,
            damage: found.damage,
            integrity: found.integrity.into_iter().map(fault).collect(),
            completeness: found.completeness.into_iter().map(fault).collect(),
            omitted: found.omitted,
        }
    }
}
