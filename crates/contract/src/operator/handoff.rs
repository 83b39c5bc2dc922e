//! The bundle with which one orchestrator session hands over a run to the next.

mod brief;
pub mod bundle;

pub use brief::{HandoffBrief, brief};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::check_heartbeat;
use super::assignment::shape::OBJECTIVE_CHARS_MAX;
use super::codes::Code;
use super::document::{self, objects};
use super::envelope::Blocker;
use super::ids::RunId;
use super::locks::{self, Lock};
use super::options::Options;
use super::reconcile::{Records, reconcile, report_issue};
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::trust;
use crate::domain::crew::row::{HEARTBEAT, TIMEOUT, TITLE};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::priority::Priority;
use crate::domain::status::Status;
use crate::finding::Finding;
use crate::shape::{NON_BLANK, Shape, UTC, bounded, document, list, whole};
use crate::verdict::Verdict;

const KIND: &str = "handoff";

document! {
    // The validator also checks that the parts are consistent.
    /// A run, handed over from one orchestrator session to the next.
    #[shape(name = "operator_handoff", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Handoff {
        /// Version of the contract; the major version is 1.
        pub schema_version: String as NON_BLANK,
        /// The run.
        pub run_id: RunId,
        /// When it was written.
        pub generated_at: Option<String> as UTC,
        /// The objective of the run.
        pub objective: String as bounded(OBJECTIVE_CHARS_MAX),
        // An object or a list.
        /// The constraints of the run.
        pub constraints: Value as Shape::Either(&[Shape::AnyObject, list!(Shape::Anything)]),
        /// All tasks.
        pub ledger: Vec<HandoffRow>,
        /// All locks, released ones included.
        pub active_locks: Vec<Lock>,
        /// The dependencies.
        pub dependencies: Vec<Dependency>,
        /// Why tasks are blocked.
        pub open_blockers: Vec<Blocker>,
        /// The acceptance criteria of each task.
        pub acceptance_targets: Vec<AcceptanceTarget>,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

document! {
    #[shape(name = "operator_handoff_row", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct HandoffRow {
        pub task_id: TaskRef,
        pub title: String as TITLE,
        pub status: Status,
        /// Empty before the task is assigned.
        pub owner: String,
        pub lock_scope: Vec<String>,
        #[serde(deserialize_with = "whole")]
        pub timeout_seconds: u64 as TIMEOUT,
        #[serde(deserialize_with = "whole")]
        pub heartbeat_interval_seconds: u64 as HEARTBEAT,
        pub priority: Priority,
        /// Null before the task was started.
        pub last_heartbeat_at: Option<String> as Shape::Nullable(&UTC),
        pub dependencies: Option<Vec<TaskRef>>,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

document! {
    #[shape(name = "operator_dependency", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Dependency {
        pub task_id: TaskRef,
        pub depends_on_task_id: TaskRef,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

document! {
    #[shape(name = "operator_acceptance_target", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct AcceptanceTarget {
        pub task_id: TaskRef,
        pub criteria: Vec<String> as list!(NON_BLANK),
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

/// Validates a handoff bundle. With `now` in the options, tasks whose heartbeat timed out are issues.
pub fn validate_handoff(bytes: &[u8], options: &Options) -> Verdict {
    match judge(bytes, options) {
        Ok((_, report)) => report.verdict(KIND, "handoff bundle valid"),
        Err(refusal) => *refusal,
    }
}

/// Reads a handoff bundle; returns it with its warnings.
pub fn read_handoff(bytes: &[u8], options: &Options) -> Result<(Handoff, Vec<Finding>), Box<Verdict>> {
    let (document, report) = judge(bytes, options)?;
    let verdict = report.verdict(KIND, "handoff bundle valid");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok((document::typed(KIND, document)?, verdict.details.warnings))
}

fn judge(bytes: &[u8], options: &Options) -> Result<(Value, FindingReport), Box<Verdict>> {
    let document = document::read_within(KIND, bytes, limits::HANDOFF_BYTES_MAX)?;
    let mut report = document::structure(Handoff::OBJECT, &document, options);
    if options.strict {
        refuse_placeholders(&document, "$", &mut report);
    }
    for (index, row) in objects(&document["ledger"]) {
        let at = format!("$.ledger[{index}]");
        check_heartbeat(row, &at, &mut report);
        locks::places(&row["lock_scope"], &format!("{at}.lock_scope"), options, &mut report);
    }
    let held = locks::read(&document["active_locks"], "$.active_locks", options, &mut report);
    // Reconciling unreadable rows would only report the same fault again.
    let readable = report.is_clean();
    locks::check_overlaps(&held, options, &mut report);
    trust::examine(&document, options, &mut report);
    if readable {
        let mut records = Records::of_ledger(&document["ledger"], options);
        records.add_dependencies(&document["dependencies"]);
        records.set_locks(held);
        records.set_blockers(&document["open_blockers"]);
        for issue in reconcile(&records) {
            if options.allow_stale && issue.code == Code::TaskTimeout {
                report.warn(issue.path.as_str(), OperatorRule::HeartbeatTooOld, issue.message);
            } else {
                report_issue(&issue, &mut report);
            }
        }
    }
    Ok((document, report))
}

/// A template that was not filled in has `<objective>` where an objective should be.
fn refuse_placeholders(value: &Value, path: &str, report: &mut FindingReport) {
    match value {
        Value::String(text) if text.len() > 2 && text.starts_with('<') && text.ends_with('>') => {
            report.fault(path, OperatorRule::Placeholder, "is a placeholder of the template");
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
