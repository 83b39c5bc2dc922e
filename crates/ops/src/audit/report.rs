//! The documents of the audit: where every stream ends, and what a check of the log found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where every stream of the log ended at one moment. Kept elsewhere, it makes removed events visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogTip {
    pub events: i64,
    pub streams: BTreeMap<String, StreamHead>,
    /// Of everything above.
    pub digest: String,
}

/// The last event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamHead {
    pub seq: i64,
    pub hash: String,
}

impl From<store::Tip> for LogTip {
    fn from(tip: store::Tip) -> Self {
        let head =
            |(name, head): (String, store::Head)| (name, StreamHead { seq: head.seq, hash: head.hash });
        Self { events: tip.events, streams: tip.streams.into_iter().map(head).collect(), digest: tip.digest }
    }
}

impl From<LogTip> for store::Tip {
    fn from(tip: LogTip) -> Self {
        let head =
            |(name, head): (String, StreamHead)| (name, store::Head { seq: head.seq, hash: head.hash });
        Self { events: tip.events, streams: tip.streams.into_iter().map(head).collect(), digest: tip.digest }
    }
}

/// What a check of the whole log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogVerification {
    pub events: i64,
    pub streams: usize,
    /// What is wrong with the file itself.
    pub damage: Vec<String>,
    /// Tables, indexes, triggers and views that are not those of a new store.
    #[serde(default)]
    pub schema: Vec<String>,
    /// Events that were changed.
    pub integrity: Vec<AuditFault>,
    /// Events that are missing.
    pub completeness: Vec<AuditFault>,
    /// Rows beside the log that do not match the seal, and a fencing counter that is behind.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Why the seal was not checked, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal_not_checked: Option<String>,
    /// Faults beyond the ones listed.
    pub omitted: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFault {
    pub stream: String,
    pub seq: i64,
    /// Where the fault is in one event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    pub message: String,
}

impl LogVerification {
    pub fn is_clean(&self) -> bool {
        let named = [&self.damage, &self.schema, &self.tables];
        let log = [&self.integrity, &self.completeness];
        named.iter().all(|faults| faults.is_empty()) && log.iter().all(|faults| faults.is_empty())
    }
}

impl From<store::Verification> for LogVerification {
    fn from(found: store::Verification) -> Self {
        let fault = |fault: store::StoreFault| {
            let store::StoreFault { stream, seq, event_id, message } = fault;
            AuditFault { stream, seq, event_id, message }
        };
        Self {
            events: found.events,
            streams: found.streams,
            damage: found.damage,
            schema: found.schema,
            integrity: found.integrity.into_iter().map(fault).collect(),
            completeness: found.completeness.into_iter().map(fault).collect(),
            tables: found.tables,
            seal_not_checked: found.seal_not_checked,
            omitted: found.omitted,
        }
    }
}
