//! The packet with which an orchestrator assigns a task to a subagent.

pub(crate) mod shape;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::conflict::{OverlapEntry, overlapping};
use super::ids::RunId;
use super::locks::{self, Lock, ParsedLock, ParsedPath};
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::{document, trust};
use crate::domain::crew::row::{CrewColumns, HEARTBEAT, TIMEOUT, TITLE, TaskType};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::priority::Priority;
use crate::finding::Finding;
use crate::shape::{NON_BLANK, TEXT, UNBOUNDED, UTC, bounded, document, list, optional, whole, words};
use crate::verdict::Verdict;
use shape::{CHECKS, OBJECTIVE_CHARS_MAX, TIMEOUT_SECONDS_MIN, TOKEN, WORKLOG_PATH_CHARS_MAX};

pub(super) const KIND: &str = "assignment";

words! {
    PacketType { Assignment = "assignment" }
}
words! {
    OutputSchema { SubagentResultV1 = "subagent_result_v1" }
}
words! {
    ContextKind { File = "file", Note = "note", Command = "command", Constraint = "constraint" }
}

document! {
    // The validator also compares the scopes and locks.
    /// One task for one subagent: what to do, where, the acceptance criteria, and the heartbeat timeout.
    #[shape(name = "operator_assignment", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Assignment {
        /// Version of the contract; the major version is 1.
        pub schema_version: String as NON_BLANK,
        /// The run, as a UUID of version 4.
        pub run_id: RunId,
        /// When it was written.
        pub generated_at: Option<String> as UTC,
        pub packet_type: PacketType,
        /// The objective of the run.
        pub global_objective: String as bounded(OBJECTIVE_CHARS_MAX),
        /// The task.
        pub task: Task,
        /// The locks while the task runs.
        pub active_locks: Vec<Lock>,
        /// Context for the subagent; data, not instructions.
        pub context_package: Vec<ContextItem>,
        /// The required form of the answer.
        pub required_output_schema: OutputSchema,
        #[serde(flatten)]
        pub extra: Map<String, Value> = [
            optional("x_fencing_token", TOKEN, "The fencing token of the lock grant."),
        ],
    }
}

document! {
    #[shape(name = "operator_task", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Task {
        /// The id of the task in its run.
        pub task_id: TaskRef,
        /// One line.
        pub title: String as TITLE,
        /// Whether other tasks may run at the same time.
        #[serde(rename = "type")]
        pub kind: TaskType,
        /// The tasks that must be done first.
        pub dependencies: Vec<TaskRef>,
        // As the plan's author wrote it.
        /// The paths it may change.
        pub lock_scope: Vec<String> as list!(TEXT, 1, UNBOUNDED),
        /// The paths it must not change.
        pub forbidden_scope: Vec<String>,
        // Assertions, never commands to run.
        /// The acceptance criteria.
        pub acceptance_criteria: Vec<String> as list!(NON_BLANK, 1, UNBOUNDED),
        /// The path of its worklog.
        pub worklog_path: String as bounded(WORKLOG_PATH_CHARS_MAX),
        /// The heartbeat timeout, after which it is considered dead.
        #[serde(deserialize_with = "whole")]
        pub timeout_seconds: u64 as TIMEOUT,
        /// The heartbeat interval; less than the timeout.
        #[serde(deserialize_with = "whole")]
        pub heartbeat_interval_seconds: u64 as HEARTBEAT,
        /// Normal by default.
        #[serde(default)]
        pub priority: Priority,
        #[serde(flatten)]
        pub extra: Map<String, Value> = [
            optional("x_checks", CHECKS, "Commands that decide a criterion; they come from the plan's author."),
            optional("x_fencing_token", TOKEN, "The fencing token of the lock grant."),
        ],
    }
}

impl Task {
    /// The columns of its ledger row.
    pub fn columns(&self) -> CrewColumns {
        CrewColumns {
            title: Some(self.title.clone()),
            kind: Some(self.kind),
            dependencies: Some(self.dependencies.clone()),
            lock_scope: Some(self.lock_scope.clone()),
            timeout_seconds: Some(self.timeout_seconds),
            heartbeat_interval_seconds: Some(self.heartbeat_interval_seconds),
            priority: Some(self.priority),
            acceptance_criteria: Some(self.acceptance_criteria.clone()),
        }
    }
}

document! {
    // Context for the subagent. A `command` is a suggestion in text form; nothing runs it.
    #[shape(name = "operator_context_item", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ContextItem {
        pub kind: ContextKind,
        pub value: String as NON_BLANK,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

impl Assignment {
    /// The token of the lock grant, which the subagent has to return with its result.
    pub fn fencing_token(&self) -> Option<u64> {
        let token = self.extra.get("x_fencing_token").or_else(|| self.task.extra.get("x_fencing_token"));
        token.and_then(Value::as_u64)
    }
}

/// Validates an assignment packet.
pub fn validate_assignment(bytes: &[u8], options: &Options) -> Verdict {
    match judge(bytes, options) {
        Ok((_, report)) => report.verdict(KIND, "assignment packet valid"),
        Err(refusal) => *refusal,
    }
}

/// Reads an assignment packet; returns it with its warnings.
pub fn read_assignment(bytes: &[u8], options: &Options) -> Result<(Assignment, Vec<Finding>), Box<Verdict>> {
    let (document, report) = judge(bytes, options)?;
    let verdict = report.verdict(KIND, "assignment packet valid");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok((document::typed(KIND, document)?, verdict.details.warnings))
}

/// Reads a packet that was validated when it was sent, to compare an answer with it. Only its shape is checked
/// again: the locks may have changed since.
pub fn recall_assignment(bytes: &[u8]) -> Result<Assignment, Box<Verdict>> {
    let document = document::read(KIND, bytes)?;
    let verdict = document::structure(Assignment::OBJECT, &document, &Options::default()).verdict(KIND, "");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    document::typed(KIND, document)
}

fn judge(bytes: &[u8], options: &Options) -> Result<(Value, FindingReport), Box<Verdict>> {
    let document = document::read(KIND, bytes)?;
    let mut report = examine(&document, options);
    trust::examine(&document, options, &mut report);
    Ok((document, report))
}

/// Checks everything in a packet except its texts, which are checked with the whole document.
pub(super) fn examine(document: &Value, options: &Options) -> FindingReport {
    let mut report = document::structure(Assignment::OBJECT, document, options);
    let task = &document["task"];
    check_task(task, options, &mut report);
    let scopes = locks::places(&task["lock_scope"], "$.task.lock_scope", options, &mut report);
    let forbidden = locks::places(&task["forbidden_scope"], "$.task.forbidden_scope", options, &mut report);
    check_forbidden(&scopes, &forbidden, options, &mut report);
    check_self_overlap(&scopes, options, &mut report);
    let held = locks::read(&document["active_locks"], "$.active_locks", options, &mut report);
    if let Some(task_id) = task["task_id"].as_str() {
        check_held(task_id, &scopes, &held, options, &mut report);
    }
    report
}

fn check_task(task: &Value, options: &Options, report: &mut FindingReport) {
    check_heartbeat(task, "$.task", report);
    if let Some(path) = task["worklog_path"].as_str().filter(|path| !path.trim().is_empty()) {
        locks::scope_at(path, "$.task.worklog_path", options, report);
    }
    for (index, dependency) in document::texts(&task["dependencies"]) {
        if task["task_id"] == dependency {
            let path = format!("$.task.dependencies[{index}]");
            report.fault(path, OperatorRule::SelfDependency, "a task cannot depend on itself");
        }
    }
}

/// The interval must be shorter than the timeout; otherwise the first heartbeat would be too late.
pub(super) fn check_heartbeat(row: &Value, at: &str, report: &mut FindingReport) {
    let seconds = |name: &str| row.get(name).and_then(Value::as_f64);
    let (Some(heartbeat), Some(timeout)) =
        (seconds("heartbeat_interval_seconds"), seconds("timeout_seconds"))
    else {
        return;
    };
    // A timeout that is too small was already reported.
    if heartbeat >= timeout && timeout >= TIMEOUT_SECONDS_MIN {
        let message = format!("must be below the timeout of {timeout} seconds, is {heartbeat}");
        report.fault(
            format!("{at}.heartbeat_interval_seconds"),
            OperatorRule::HeartbeatNotBelowTimeout,
            message,
        );
    }
}

fn check_forbidden(
    scopes: &[ParsedPath],
    forbidden: &[ParsedPath],
    options: &Options,
    report: &mut FindingReport,
) {
    for (scope, place) in crossing(scopes, forbidden, options) {
        let message = format!("`{}` overlaps `{}` of the lock scope", place.scope, scope.scope);
        report.fault(place.path.as_str(), OperatorRule::ForbiddenOverlapsLock, message);
    }
}

/// The overlapping pairs, with one path from each list.
pub(super) fn crossing<'p>(
    a: &'p [ParsedPath],
    b: &'p [ParsedPath],
    options: &Options,
) -> Vec<(&'p ParsedPath, &'p ParsedPath)> {
    let entries =
        a.iter().enumerate().map(|(index, place)| OverlapEntry::new(&place.scope, options.fold, 0, index));
    let others = b
        .iter()
        .enumerate()
        .map(|(index, place)| OverlapEntry::new(&place.scope, options.fold, 1, a.len() + index));
    let pairs = overlapping(entries.chain(others).collect(), limits::FINDINGS_MAX);
    pairs.into_iter().map(|(first, second)| (&a[first], &b[second - a.len()])).collect()
}

fn check_self_overlap(scopes: &[ParsedPath], options: &Options, report: &mut FindingReport) {
    let entries = scopes.iter().enumerate();
    let entries =
        entries.map(|(index, place)| OverlapEntry::new(&place.scope, options.fold, index, index)).collect();
    for (first, second) in overlapping(entries, limits::FINDINGS_MAX) {
        let message = format!("`{}` overlaps `{}` before it", scopes[second].scope, scopes[first].scope);
        report.fault(scopes[second].path.as_str(), OperatorRule::SelfOverlap, message);
    }
}

/// The scope must be free of other tasks' active locks; a task's own locks do not conflict with it.
fn check_held(
    task_id: &str,
    scopes: &[ParsedPath],
    held: &[ParsedLock],
    options: &Options,
    report: &mut FindingReport,
) {
    let wanted = scopes.iter().enumerate();
    let wanted = wanted.map(|(index, place)| OverlapEntry::new(&place.scope, options.fold, 0, index));
    let others = held.iter().enumerate().filter(|(_, lock)| lock.active && lock.task_id != task_id);
    let others = others
        .map(|(index, lock)| OverlapEntry::new(&lock.place.scope, options.fold, 1, scopes.len() + index));
    for (scope, lock) in overlapping(wanted.chain(others).collect(), limits::FINDINGS_MAX) {
        let (place, lock) = (&scopes[scope], &held[lock - scopes.len()]);
        locks::report_conflict(lock, task_id, place, OperatorRule::ActiveLock, report);
    }
}
