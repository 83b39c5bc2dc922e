//! An orchestrator's output of one round: ledger deltas, assignments, locks and blockers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::{self, Assignment};
use super::codes::Code;
use super::delta::Delta;
use super::document::{self, objects};
use super::ids::{RunId, same_run};
use super::locks::{self, Lock, ParsedLock, ParsedPath};
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::trust;
use crate::domain::crew::CrewBlocker;
use crate::domain::crew::row::TaskType;
use crate::domain::crew::task_ref::TaskRef;
use crate::finding::Finding;
use crate::shape::{NON_BLANK, NUMBER, Shape, UTC, document, list, optional};
use crate::verdict::Verdict;

const KIND: &str = "envelope";

document! {
    /// An orchestrator's decisions of one round.
    #[shape(name = "operator_envelope", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct OrchestratorOutput {
        /// Version of the contract; the major version is 1.
        pub schema_version: String as NON_BLANK,
        /// The run; the same in every assignment.
        pub run_id: RunId,
        /// When it was written.
        pub generated_at: Option<String> as UTC,
        /// The ledger deltas, in order.
        pub ledger_delta: Vec<Delta>,
        /// The assignments.
        // Each is a separate document and is validated as one.
        pub assignments: Vec<Assignment> as list!(Shape::AnyObject),
        /// The locks after this round.
        pub active_locks: Vec<Lock>,
        /// The blockers.
        pub blockers: Vec<Blocker>,
        /// What comes next, for a person.
        pub next_actions: Vec<String> as list!(NON_BLANK),
        #[serde(flatten)]
        pub extra: Map<String, Value> = [
            optional("x_base_version", NUMBER, "The ledger version that it was written for."),
        ],
    }
}

document! {
    /// Why a task is blocked.
    #[shape(name = "operator_blocker", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Blocker {
        pub task_id: TaskRef,
        /// The cause, as a validator's code.
        pub code: Code as Shape::Word(Code::FAULTS),
        /// The cause, for a person.
        pub reason: String as NON_BLANK,
        pub details: Option<Map<String, Value>>,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

impl From<Blocker> for CrewBlocker {
    fn from(blocker: Blocker) -> Self {
        let Blocker { task_id, code, reason, details, extra } = blocker;
        Self { task_id, code: code.to_string(), reason, details, extra }
    }
}

/// Validates an orchestrator's output, with the assignments in it.
pub fn validate_envelope(bytes: &[u8], options: &Options) -> Verdict {
    match judge(bytes, options) {
        Ok((_, report)) => report.verdict(KIND, "orchestrator output valid"),
        Err(refusal) => *refusal,
    }
}

/// Reads an orchestrator's output; returns it with its warnings.
pub fn read_envelope(
    bytes: &[u8],
    options: &Options,
) -> Result<(OrchestratorOutput, Vec<Finding>), Box<Verdict>> {
    let (document, report) = judge(bytes, options)?;
    let verdict = report.verdict(KIND, "orchestrator output valid");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok((document::typed(KIND, document)?, verdict.details.warnings))
}

fn judge(bytes: &[u8], options: &Options) -> Result<(Value, FindingReport), Box<Verdict>> {
    let document = document::read(KIND, bytes)?;
    let mut report = document::structure(OrchestratorOutput::OBJECT, &document, options);
    for (index, packet) in objects(&document["assignments"]) {
        report.absorb(&format!("$.assignments[{index}]"), assignment::examine(packet, options));
    }
    check_locks(&document, options, &mut report);
    trust::examine(&document, options, &mut report);
    check_packets(&document, &mut report);
    check_deltas(&document, &mut report);
    Ok((document, report))
}

/// Existing locks and the locks of this round's assignments must not overlap between tasks.
fn check_locks(document: &Value, options: &Options, report: &mut FindingReport) {
    let mut held = locks::read(&document["active_locks"], "$.active_locks", options, report);
    for (index, packet) in objects(&document["assignments"]) {
        let Some(task_id) = packet["task"]["task_id"].as_str() else { continue };
        // Invalid paths were already reported with their packet.
        let mut seen = FindingReport::default();
        let at = format!("$.assignments[{index}].task.lock_scope");
        let scopes = locks::places(&packet["task"]["lock_scope"], &at, options, &mut seen);
        held.extend(scopes.into_iter().map(|place| wanted(task_id, place)));
    }
    locks::check_overlaps(&held, options, report);
}

fn wanted(task_id: &str, place: ParsedPath) -> ParsedLock<'_> {
    ParsedLock { place, task_id, shared: false, active: true }
}

/// All assignments belong to this run, no task is assigned twice, and a serial task is assigned alone.
fn check_packets(document: &Value, report: &mut FindingReport) {
    let run_id = document["run_id"].as_str();
    let mut given = BTreeSet::new();
    let is_alone = objects(&document["assignments"]).count() == 1;
    for (index, packet) in objects(&document["assignments"]) {
        let own = packet["run_id"].as_str();
        if let (Some(run_id), Some(own)) = (run_id, own)
            && !same_run(run_id, own)
        {
            let message = format!("must be `{run_id}`, as in the envelope");
            report.fault(format!("$.assignments[{index}].run_id"), OperatorRule::IdentityMismatch, message);
        }
        if packet["task"]["type"] == TaskType::Serial.as_str() && !is_alone {
            let message = "a serial task must be assigned alone: it locks the whole workspace";
            report.fault(format!("$.assignments[{index}].task.type"), OperatorRule::Overlap, message);
        }
        let Some(task_id) = packet["task"]["task_id"].as_str() else { continue };
        if !given.insert(task_id) {
            let message = format!("{task_id} is assigned twice in one round");
            report.fault(
                format!("$.assignments[{index}].task.task_id"),
                OperatorRule::DuplicateAssignment,
                message,
            );
        }
    }
}

/// Checks the deltas without the ledger: a blocked task has a blocker, a task in progress has an owner.
fn check_deltas(document: &Value, report: &mut FindingReport) {
    let blockers = objects(&document["blockers"]).filter_map(|(_, blocker)| blocker["task_id"].as_str());
    let stuck: BTreeSet<&str> = blockers.collect();
    let mut names = BTreeSet::new();
    for (index, delta) in objects(&document["ledger_delta"]) {
        let at = |field: &str| format!("$.ledger_delta[{index}].{field}");
        let text = |name: &str| delta.get(name).and_then(Value::as_str);
        let Some(task_id) = text("task_id") else { continue };
        if text("status") == Some("blocked") && !stuck.contains(task_id) {
            report.fault(
                at("status"),
                OperatorRule::BlockerMissing,
                format!("{task_id} is blocked and has no blocker"),
            );
        }
        if text("status") == Some("in_progress") && text("owner").is_some_and(|owner| owner.trim().is_empty())
        {
            let message = format!("{task_id} cannot be in progress without an owner");
            report.fault(at("owner"), OperatorRule::OwnerMissing, message);
        }
        if text("delta_id").is_some_and(|delta_id| !names.insert(delta_id)) {
            report.warn(
                at("delta_id"),
                OperatorRule::DeltaMismatch,
                "the id is used above; this delta is ignored",
            );
        }
    }
}
