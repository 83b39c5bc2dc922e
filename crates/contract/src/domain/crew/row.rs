//! A row of a crew's ledger: the state of one task.

mod from_packet;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::task_ref::TaskRef;
use crate::domain::check::CheckSeen;
use crate::domain::limits;
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::shape::{
    Described, INTEGER_MAX, NON_BLANK, NUMBER, Shape, TEXTS, UTC, bounded, document, list, optional, whole,
    whole_or_none, words,
};

/// The last day that the calendar can print, 9999-12-30.
const LAST_DAY_MS: i64 = 253_402_128_000_000;

pub(crate) const TIMEOUT: Shape = Shape::Integer { min: 30, max: INTEGER_MAX };
pub(crate) const HEARTBEAT: Shape = Shape::Integer { min: 5, max: INTEGER_MAX };
pub(crate) const TITLE: Shape = bounded(limits::TITLE_CHARS_MAX);

words! {
    TaskType {
        Parallelizable = "parallelizable",
        /// No other task is in progress at the same time.
        Serial = "serial",
    }
}

document! {
    // One task's state.
    #[shape(name = "operator_ledger_row", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct CrewRow {
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
        pub columns: CrewColumns = [
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

document! {
    // The task fields of a row. All are optional: a ledger may have them from elsewhere.
    #[shape(name = "operator_row_columns", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct CrewColumns {
        pub title: Option<String> as TITLE,
        #[serde(rename = "type")]
        pub kind: Option<TaskType>,
        pub dependencies: Option<Vec<TaskRef>>,
        pub lock_scope: Option<Vec<String>>,
        #[serde(deserialize_with = "whole_or_none")]
        pub timeout_seconds: Option<u64> as TIMEOUT,
        #[serde(deserialize_with = "whole_or_none")]
        pub heartbeat_interval_seconds: Option<u64> as HEARTBEAT,
        pub priority: Option<Priority>,
        pub acceptance_criteria: Option<Vec<String>> as list!(NON_BLANK),
    }
}

document! {
    /// Why a task is done, if no worker submitted a result.
    #[shape(name = "operator_accepted", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Accepted {
        /// Who said that it is done.
        pub by: String as NON_BLANK,
        /// Why.
        pub reason: String as NON_BLANK,
        /// How each criterion was met.
        #[optional]
        pub acceptance_check: Vec<CriterionCheck>,
        /// The author's checks, as writ saw them pass.
        #[serde(default)]
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub checks: Vec<CheckSeen> as list!(Shape::AnyObject),
    }
}

words! {
    CriterionStatus { Pass = "pass", Fail = "fail" }
}

document! {
    #[shape(name = "operator_acceptance_check", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct CriterionCheck {
        /// The criterion, as in the assignment.
        pub criterion: String as NON_BLANK,
        pub status: CriterionStatus,
        /// The evidence; not empty in a result that is done.
        pub evidence: String,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

impl CrewRow {
    pub fn dependencies(&self) -> &[TaskRef] {
        self.columns.dependencies.as_deref().unwrap_or(&[])
    }

    /// Records that it may be assigned again this long after `now`.
    pub fn note_retry(&mut self, wait_ms: u64, now: Timestamp) {
        let wait = i64::try_from(wait_ms).unwrap_or(i64::MAX);
        let at = now.millis().saturating_add(wait).min(LAST_DAY_MS);
        self.x_retry_at = Some(Timestamp::from_millis(at).to_string());
    }

    /// How long the task may not be assigned yet; `None` if it may. Never longer than the delta asked for, also if the
    /// clock was set back.
    pub fn wait_left(&self, now: Timestamp) -> Option<Duration> {
        let at = self.x_retry_at.as_deref().and_then(Timestamp::parse_utc)?;
        let most = Duration::from_millis(self.retry_after_ms.unwrap_or(0));
        Some(at.since(now).min(most)).filter(|left| !left.is_zero())
    }
}

impl CrewColumns {
    /// Applies the fields that `newer` sets and keeps the rest.
    pub(crate) fn update(&mut self, newer: &CrewColumns) {
        fn take<T: Clone>(old: &mut Option<T>, new: Option<&T>) {
            *old = new.cloned().or(old.take());
        }
        take(&mut self.title, newer.title.as_ref());
        take(&mut self.kind, newer.kind.as_ref());
        take(&mut self.dependencies, newer.dependencies.as_ref());
        take(&mut self.lock_scope, newer.lock_scope.as_ref());
        take(&mut self.timeout_seconds, newer.timeout_seconds.as_ref());
        take(&mut self.heartbeat_interval_seconds, newer.heartbeat_interval_seconds.as_ref());
        take(&mut self.priority, newer.priority.as_ref());
        take(&mut self.acceptance_criteria, newer.acceptance_criteria.as_ref());
    }
}
