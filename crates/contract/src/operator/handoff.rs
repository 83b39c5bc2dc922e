//! The bundle with which one orchestrator session hands a run to the next.

mod brief;

pub use brief::{HandoffBrief, brief};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::check_heartbeat;
use super::assignment::shape::{HEARTBEAT, OBJECTIVE_CHARS_MAX, PRIORITY, TASK_IDS, TIMEOUT, TITLE, bounded};
use super::codes::Code;
use super::delta::STATUS;
use super::document::{self, objects, whole};
use super::envelope::{BLOCKERS, Blocker};
use super::ids::{RUN_ID, RunId, TASK_ID, TaskRef, UTC};
use super::locks::{self, LOCKS, Lock};
use super::options::Options;
use super::reconcile::{Books, reconcile, report_issue};
use super::report::Report;
use super::rules::Rule;
use super::trust;
use crate::domain::limits;
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::finding::Finding;
use crate::shape::{List, NON_BLANK, Object, Shape, TEXT, TEXTS, UNBOUNDED, Unknown, optional, required};
use crate::verdict::Verdict;

const KIND: &str = "handoff";

/// Everything the next session may know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    pub schema_version: String,
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_at: Option<String>,
    pub objective: String,
    /// An object or a list.
    pub constraints: Value,
    pub ledger: Vec<HandoffRow>,
    pub active_locks: Vec<Lock>,
    pub dependencies: Vec<Dependency>,
    pub open_blockers: Vec<Blocker>,
    pub acceptance_targets: Vec<AcceptanceTarget>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffRow {
    pub task_id: TaskRef,
    pub title: String,
    pub status: Status,
    pub owner: String,
    pub lock_scope: Vec<String>,
    #[serde(deserialize_with = "whole")]
    pub timeout_seconds: u64,
    #[serde(deserialize_with = "whole")]
    pub heartbeat_interval_seconds: u64,
    pub priority: Priority,
    /// None before the task was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<TaskRef>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dependency {
    pub task_id: TaskRef,
    pub depends_on_task_id: TaskRef,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptanceTarget {
    pub task_id: TaskRef,
    pub criteria: Vec<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The whole bundle. That its parts agree is checked beside the shape.
pub static HANDOFF: Object = Object {
    name: "operator_handoff",
    about: "A run, handed from one orchestrator session to the next.",
    fields: &[
        required("schema_version", NON_BLANK, "Version of the contract; the major version is 1."),
        required("run_id", RUN_ID, "The run."),
        optional("generated_at", UTC, "When it was written."),
        required("objective", bounded(OBJECTIVE_CHARS_MAX), "What the run is for."),
        required("constraints", Shape::Either(&[Shape::AnyObject, ANY_LIST]), "What has to be kept to."),
        required(
            "ledger",
            Shape::List(&List { item: Shape::Object(&ROW), min: 0, max: UNBOUNDED }),
            "All tasks.",
        ),
        required("active_locks", LOCKS, "All locks, released ones included."),
        required("dependencies", DEPENDENCIES, "What waits for what."),
        required("open_blockers", BLOCKERS, "Why blocked tasks do not go on."),
        required("acceptance_targets", TARGETS, "What must be true of each task in the end."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

const ANY_LIST: Shape = Shape::List(&List { item: Shape::Anything, min: 0, max: UNBOUNDED });
const DEPENDENCIES: Shape = Shape::List(&List { item: Shape::Object(&DEPENDENCY), min: 0, max: UNBOUNDED });
const TARGETS: Shape = Shape::List(&List { item: Shape::Object(&TARGET), min: 0, max: UNBOUNDED });

static ROW: Object = Object {
    name: "operator_handoff_row",
    about: "",
    fields: &[
        required("task_id", TASK_ID, ""),
        required("title", TITLE, ""),
        required("status", STATUS, ""),
        required("owner", TEXT, "Empty before the task is given out."),
        required("lock_scope", TEXTS, ""),
        required("timeout_seconds", TIMEOUT, ""),
        required("heartbeat_interval_seconds", HEARTBEAT, ""),
        required("priority", PRIORITY, ""),
        optional("last_heartbeat_at", Shape::Nullable(&UTC), "Null before the task was started."),
        optional("dependencies", TASK_IDS, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static DEPENDENCY: Object = Object {
    name: "operator_dependency",
    about: "",
    fields: &[required("task_id", TASK_ID, ""), required("depends_on_task_id", TASK_ID, "")],
    unknown: Unknown::KeptUnlessStrict,
};

static TARGET: Object = Object {
    name: "operator_acceptance_target",
    about: "",
    fields: &[
        required("task_id", TASK_ID, ""),
        required("criteria", Shape::List(&List { item: NON_BLANK, min: 0, max: UNBOUNDED }), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Judges a handoff bundle. With `now` in the options, tasks that have been silent for too long are issues.
pub fn validate_handoff(bytes: &[u8], options: &Options) -> Verdict {
    match judge(bytes, options) {
        Ok((_, report)) => report.verdict(KIND, "handoff bundle valid"),
        Err(refusal) => *refusal,
    }
}

/// Reads a handoff bundle and gives its warnings beside it.
pub fn read_handoff(bytes: &[u8], options: &Options) -> Result<(Handoff, Vec<Finding>), Box<Verdict>> {
    let (document, report) = judge(bytes, options)?;
    let verdict = report.verdict(KIND, "handoff bundle valid");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok((document::typed(KIND, document)?, verdict.details.warnings))
}

fn judge(bytes: &[u8], options: &Options) -> Result<(Value, Report), Box<Verdict>> {
    let document = document::read_within(KIND, bytes, limits::HANDOFF_BYTES_MAX)?;
    let mut report = document::structure(&HANDOFF, &document, options);
    if options.strict {
        refuse_placeholders(&document, "$", &mut report);
    }
    for (index, row) in objects(&document["ledger"]) {
        let at = format!("$.ledger[{index}]");
        check_heartbeat(row, &at, &mut report);
        locks::places(&row["lock_scope"], &format!("{at}.lock_scope"), options, &mut report);
    }
    let held = locks::read(&document["active_locks"], "$.active_locks", options, &mut report);
    // Of rows that cannot be read reconciling would only repeat the same fault.
    let readable = report.is_clean();
    locks::check_overlaps(&held, options, &mut report);
    trust::examine(&document, options, &mut report);
    if readable {
        let mut books = Books::of_ledger(&document["ledger"], options);
        books.add_dependencies(&document["dependencies"]);
        books.set_locks(held);
        books.set_blockers(&document["open_blockers"]);
        for issue in reconcile(&books) {
            if options.allow_stale && issue.code == Code::TaskTimeout {
                report.warn(issue.path.as_str(), Rule::HeartbeatTooOld, issue.message);
            } else {
                report_issue(&issue, &mut report);
            }
        }
    }
    Ok((document, report))
}

/// A template that nobody filled in says `<objective>` where an objective should be.
fn refuse_placeholders(value: &Value, path: &str, report: &mut Report) {
    match value {
        Value::String(text) if text.len() > 2 && text.starts_with('<') && text.ends_with('>') => {
            report.fault(path, Rule::Placeholder, "is a placeholder of the template");
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                refuse_placeholders(item, &format!("{path}[{index}]"), report);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                refuse_placeholders(value, &format!("{path}.{name}"), report);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
