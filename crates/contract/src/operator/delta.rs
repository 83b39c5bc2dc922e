//! One change of one ledger row, as an orchestrator sends it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::TaskType;
use super::assignment::shape::{HEARTBEAT, TIMEOUT, TITLE};
use super::document::{INTEGER_MAX, NUMBER, whole_or_none};
use super::ids::{TaskRef, UTC};
use super::result::CriterionCheck;
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::shape::words;
use crate::shape::{NON_BLANK, Shape, document, list};

words! {
    /// Whether a delta creates its row.
    Intent { Create = "create", Update = "update" }
}

document! {
    /// One change of one row of the ledger.
    #[shape(name = "operator_ledger_delta", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Delta {
        /// The row.
        pub task_id: TaskRef,
        /// The state it enters, or stays in.
        pub status: Status,
        /// Who works on it; not empty while it is in progress.
        pub owner: String,
        /// Why.
        pub reason: String,
        /// The id of this change in its run; a repeated id is ignored.
        pub delta_id: String as NON_BLANK,
        /// The worker's last heartbeat.
        pub last_heartbeat_at: Option<String> as Shape::Nullable(&UTC),
        /// Whether its heartbeat timed out.
        pub timed_out: Option<bool>,
        /// When to retry.
        #[serde(deserialize_with = "whole_or_none")]
        pub retry_after_ms: Option<u64> as NUMBER,
        /// Whether the delta creates the row.
        pub x_intent: Option<Intent>,
        // -1 if there was no row.
        /// The version that was read.
        #[serde(deserialize_with = "whole_or_none")]
        pub x_expected_version: Option<i64> as Shape::Integer { min: -1, max: INTEGER_MAX },
        /// Further fields of a new row.
        pub x_row: Option<Columns>,
        /// How each acceptance criterion was met, if the delta says that the task is done.
        pub x_acceptance_check: Option<Vec<CriterionCheck>>,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

impl Delta {
    /// A delta with only its target status.
    pub fn blank(task_id: TaskRef, status: Status) -> Self {
        Self {
            task_id,
            status,
            owner: String::new(),
            reason: String::new(),
            delta_id: String::new(),
            last_heartbeat_at: None,
            timed_out: None,
            retry_after_ms: None,
            x_intent: None,
            x_expected_version: None,
            x_row: None,
            x_acceptance_check: None,
            extra: Map::new(),
        }
    }
}

document! {
    // The task fields of a row. All are optional: a ledger may have them from elsewhere.
    #[shape(name = "operator_row_columns", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Columns {
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

impl Columns {
    /// Applies the fields that `newer` sets and keeps the rest.
    pub(super) fn update(&mut self, newer: &Columns) {
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
