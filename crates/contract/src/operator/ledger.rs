//! The ledger of a run and how deltas change it: in order, once each, all deltas of an envelope or none.

mod accepted;
mod apply;
mod document;
mod from_packet;

pub use accepted::{Accepted, DoneEvidence, NotAccepted};
pub use document::{LEDGER_DELTAS, validate_deltas};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::assignment::TaskType;
use super::assignment::shape::{HEARTBEAT, TIMEOUT, TITLE};
use super::delta::{Columns, Delta};
use super::document::{NUMBER, whole, whole_or_none};
use super::ids::{TaskRef, UTC, parse_utc};
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::shape::{Described, Shape, TEXTS, document, optional};
use crate::verdict::Verdict;

const KIND: &str = "ledger_delta";
/// The last day that the calendar can print, 9999-12-30.
const LAST_DAY_MS: i64 = 253_402_128_000_000;

document! {
    /// The canonical state of a run.
    #[shape(name = "operator_ledger", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Ledger {
        /// Increases with every applied delta.
        #[serde(default, deserialize_with = "whole")]
        pub version: u64 as NUMBER,
        /// The ids of all applied deltas.
        #[serde(default)]
        pub applied: BTreeSet<String>,
        /// The digest of each applied delta.
        #[optional]
        pub digests: BTreeMap<String, String>,
        /// The tasks.
        pub rows: BTreeMap<TaskRef, Row>,
    }
}

document! {
    // One task's state.
    #[shape(name = "operator_ledger_row", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Row {
        pub status: Status,
        #[serde(default)]
        pub owner: String,
        #[serde(default)]
        pub reason: String,
        // 0 when it was created; increases with every delta.
        #[serde(default, deserialize_with = "whole")]
        pub version: u64 as NUMBER,
        // How often it became blocked.
        #[serde(default, deserialize_with = "whole")]
        pub retry_count: u64 as NUMBER,
        pub last_heartbeat_at: Option<String> as Shape::Nullable(&UTC),
        pub timed_out: Option<bool>,
        #[serde(deserialize_with = "whole_or_none")]
        pub retry_after_ms: Option<u64> as NUMBER,
        // The delta's time plus `retry_after_ms`.
        /// When it may be assigned again.
        pub x_retry_at: Option<String> as UTC,
        /// The fields that the orchestrator's last packet set; its next packet may change them.
        #[optional]
        pub x_from_packet: Vec<String>,
        /// Why it is done, if no worker submitted a result.
        pub x_accepted: Option<Accepted>,
        #[serde(flatten)]
        // More tolerant than in a delta: a blank criterion is kept.
        pub columns: Columns = [
            optional("title", TITLE, ""),
            optional("type", TaskType::SHAPE, ""),
            optional("dependencies", <Vec<TaskRef>>::SHAPE, ""),
            optional("lock_scope", TEXTS, ""),
            optional("timeout_seconds", TIMEOUT, ""),
            optional("heartbeat_interval_seconds", HEARTBEAT, ""),
            optional("priority", Priority::SHAPE, ""),
            optional("acceptance_criteria", TEXTS, ""),
        ],
    }
}

impl Row {
    pub fn dependencies(&self) -> &[TaskRef] {
        self.columns.dependencies.as_deref().unwrap_or(&[])
    }

    /// Records that a delta which sets `retry_after_ms` was applied at `now`.
    pub fn note_retry(&mut self, delta: &Delta, now: Timestamp) {
        if let Some(wait) = delta.retry_after_ms {
            let wait = i64::try_from(wait).unwrap_or(i64::MAX);
            let at = now.millis().saturating_add(wait).min(LAST_DAY_MS);
            self.x_retry_at = Some(Timestamp::from_millis(at).to_string());
        }
    }

    /// How long the task may not be assigned yet; `None` if it may. Never longer than the delta asked for, also if the
    /// clock was set back.
    pub fn wait_left(&self, now: Timestamp) -> Option<Duration> {
        let at = self.x_retry_at.as_deref().and_then(parse_utc)?;
        let most = Duration::from_millis(self.retry_after_ms.unwrap_or(0));
        Some(at.since(now).min(most)).filter(|left| !left.is_zero())
    }
}

/// How strictly deltas are checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeltaOptions {
    /// Every delta must name the version it read, and a repeated id must repeat its content.
    pub strict: bool,
    /// The ledger version that the envelope was written for (`x_base_version`).
    pub base_version: Option<u64>,
}

/// A delta that was ignored because its id was already applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    pub delta_id: String,
    /// Its content differs from the delta that was applied under its id.
    pub mismatch: bool,
}

/// A ledger after some streams, and the deltas that were ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    pub ledger: Ledger,
    pub ignored: Vec<Ignored>,
}

impl Ledger {
    /// Applies the deltas of one envelope. A refusal names the first delta that cannot be applied and changes nothing.
    pub fn apply(&mut self, deltas: &[Delta], options: DeltaOptions) -> Result<Vec<Ignored>, Box<Verdict>> {
        let draft = apply::draft(self, deltas, options).map_err(apply::Refusal::verdict)?;
        Ok(draft.commit(self))
    }
}

/// Applies streams one after the other, each completely or not at all. Stops at the first refusal; its details name
/// the stream and the delta. The earlier streams would stay applied.
pub fn apply_deltas(
    base: &Ledger,
    streams: &[Vec<Delta>],
    options: DeltaOptions,
) -> Result<Applied, Box<Verdict>> {
    let mut applied = Applied { ledger: base.clone(), ignored: Vec::new() };
    for (index, stream) in streams.iter().enumerate() {
        // The expected version of the ledger applies to the first stream only.
        let options = DeltaOptions { base_version: options.base_version.filter(|_| index == 0), ..options };
        let ignored = applied.ledger.apply(stream, options).map_err(|mut refusal| {
            refusal.details.more.insert("stream".to_owned(), index.into());
            refusal
        })?;
        applied.ignored.extend(ignored);
    }
    Ok(applied)
}

#[cfg(test)]
mod tests;
