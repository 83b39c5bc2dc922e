//! One change of one ledger row, as an orchestrator sends it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::crew::row::{CrewColumns, CriterionCheck};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::status::Status;
use crate::shape::{INTEGER_MAX, NON_BLANK, NUMBER, Shape, UTC, document, whole_or_none, words};

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
        pub x_row: Option<CrewColumns>,
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
