//! One change of one ledger row, as an orchestrator announces it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::TaskType;
use super::assignment::shape::{HEARTBEAT, PRIORITY, TASK_IDS, TIMEOUT, TITLE};
use super::document::{INTEGER_MAX, whole_or_none};
use super::ids::{TASK_ID, TaskRef, UTC};
use crate::aop::word::words;
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::shape::{List, NON_BLANK, Object, Shape, TEXT, TEXTS, UNBOUNDED, Unknown, optional, required};

words! {
    /// Whether a delta means to make its row.
    Intent { Create = "create", Update = "update" }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    pub task_id: TaskRef,
    pub status: Status,
    pub owner: String,
    pub reason: String,
    /// Names the change in its run: a second one of the same name is ignored.
    pub delta_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_or_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_intent: Option<Intent>,
    /// The version of the row that its writer read; -1 where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_or_none")]
    pub x_expected_version: Option<i64>,
    /// What else belongs into a new row, or into one that is planned anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_row: Option<Columns>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Delta {
    /// One that says nothing yet but where it leads.
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
            extra: Map::new(),
        }
    }
}

/// What a row says about its task. All of it is optional: a ledger may know it from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    pub kind: Option<TaskType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<TaskRef>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_scope: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_or_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_or_none")]
    pub heartbeat_interval_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Vec<String>>,
}

impl Columns {
    /// Takes over what `newer` says and keeps the rest.
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

pub(super) const STATUS: Shape =
    Shape::Word(&["todo", "in_progress", "blocked", "done", "failed", "canceled"]);

pub static DELTA: Object = Object {
    name: "operator_ledger_delta",
    about: "One change of one row of the ledger.",
    fields: &[
        required("task_id", TASK_ID, "The row."),
        required("status", STATUS, "The state it enters, or stays in."),
        required("owner", TEXT, "Who works on it; not empty while it is in progress."),
        required("reason", TEXT, "Why."),
        required("delta_id", NON_BLANK, "Names this change in its run; a repetition is ignored."),
        optional("last_heartbeat_at", Shape::Nullable(&UTC), "When its worker last said that it lives."),
        optional("timed_out", Shape::Bool, "Whether it was silent for too long."),
        optional("retry_after_ms", Shape::Integer { min: 0, max: INTEGER_MAX }, "When to try again."),
        optional("x_intent", Intent::SHAPE, "Whether the row is to be made."),
        optional(
            "x_expected_version",
            Shape::Integer { min: -1, max: INTEGER_MAX },
            "The version that was read.",
        ),
        optional("x_row", Shape::Object(&COLUMNS), "What else belongs into a new row."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static COLUMNS: Object = Object {
    name: "operator_row_columns",
    about: "",
    fields: &[
        optional("title", TITLE, ""),
        optional("type", TaskType::SHAPE, ""),
        optional("dependencies", TASK_IDS, ""),
        optional("lock_scope", TEXTS, ""),
        optional("timeout_seconds", TIMEOUT, ""),
        optional("heartbeat_interval_seconds", HEARTBEAT, ""),
        optional("priority", PRIORITY, ""),
        optional("acceptance_criteria", Shape::List(&List { item: NON_BLANK, min: 0, max: UNBOUNDED }), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};
