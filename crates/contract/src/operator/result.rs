//! A subagent's result: what it changed and how each criterion was met.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assignment::shape::{TOKEN, WORKLOG_PATH_CHARS_MAX};
use super::assignment::{Assignment, crossing};
use super::conflict::ScopeCover;
use super::document::{self, objects};
use super::ids::{RunId, same_run};
use super::locks::{self, ParsedPath};
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::trust;
use crate::domain::crew::row::{CriterionCheck, CriterionStatus};
use crate::domain::crew::task_ref::TaskRef;
use crate::finding::Finding;
use crate::shape::{NON_BLANK, UTC, bounded, document, list, optional, words};
use crate::verdict::Verdict;

const KIND: &str = "result";

words! {
    /// How an attempt ended, as reported by the subagent.
    Outcome { Done = "done", Blocked = "blocked", Failed = "failed" }
}
document! {
    // Everything in it is a claim. The validator also checks what `done` requires, and the assignment.
    /// A subagent's answer to an assignment.
    #[shape(name = "operator_result", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct SubagentResult {
        /// Version of the contract; the major version is 1.
        pub schema_version: String as NON_BLANK,
        /// The run.
        pub run_id: RunId,
        /// When it was written.
        pub generated_at: Option<String> as UTC,
        /// The task.
        pub task_id: TaskRef,
        /// How it ended.
        pub status: Outcome,
        /// What was changed.
        pub changes: Vec<Change>,
        /// Each criterion, with evidence.
        pub acceptance_check: Vec<CriterionCheck>,
        /// The path of the worklog.
        pub worklog_path: String as bounded(WORKLOG_PATH_CHARS_MAX),
        /// Notes for the orchestrator; without secrets.
        pub notes_for_orchestrator: Vec<String> as list!(NON_BLANK, 0, NOTES_MAX),
        #[serde(flatten)]
        pub extra: Map<String, Value> = [
            optional("x_fencing_token", TOKEN, "The fencing token of its lock grant."),
        ],
    }
}

document! {
    #[shape(name = "operator_change", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Change {
        /// The file.
        pub resource: String,
        /// What was done to it.
        pub action: String as NON_BLANK,
        pub evidence: Option<String>,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

/// How many notes a result may carry.
const NOTES_MAX: usize = 5;

/// Validates a result; with an assignment in the options, also whether it answers it and stays within its scope.
pub fn validate_result(bytes: &[u8], options: &Options) -> Verdict {
    match judge(bytes, options) {
        Ok((_, report)) => report.verdict(KIND, "result packet valid"),
        Err(refusal) => *refusal,
    }
}

/// Reads a result; returns it with its warnings.
pub fn read_result(bytes: &[u8], options: &Options) -> Result<(SubagentResult, Vec<Finding>), Box<Verdict>> {
    let (document, report) = judge(bytes, options)?;
    let verdict = report.verdict(KIND, "result packet valid");
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok((document::typed(KIND, document)?, verdict.details.warnings))
}

fn judge(bytes: &[u8], options: &Options) -> Result<(Value, FindingReport), Box<Verdict>> {
    let document = document::read(KIND, bytes)?;
    let report = examine(&document, options);
    Ok((document, report))
}

pub(super) fn examine(document: &Value, options: &Options) -> FindingReport {
    let mut report = document::structure(SubagentResult::OBJECT, document, options);
    let changed = changed_places(&document["changes"], options, &mut report);
    let worklog = document["worklog_path"].as_str().filter(|path| !path.trim().is_empty());
    if let Some(path) = worklog {
        locks::scope_at(path, "$.worklog_path", options, &mut report);
    }
    trust::examine(document, options, &mut report);
    if let Some(assignment) = options.assignment {
        check_identity(document, assignment, options, &mut report);
        check_scope(&changed, assignment, options, &mut report);
    }
    if document["status"] == Outcome::Done.as_str() {
        check_done(document, options, &mut report);
    }
    report
}

fn changed_places(changes: &Value, options: &Options, report: &mut FindingReport) -> Vec<ParsedPath> {
    let mut places = Vec::new();
    for (index, change) in objects(changes) {
        let path = format!("$.changes[{index}].resource");
        let Some(resource) = change["resource"].as_str() else { continue };
        if let Some(scope) = locks::scope_at(resource, &path, options, report) {
            places.push(ParsedPath { path, scope });
        }
    }
    places
}

/// A result must answer its own assignment, with the token of its own grant.
fn check_identity(document: &Value, assignment: &Assignment, options: &Options, report: &mut FindingReport) {
    let task = &assignment.task;
    let differs = |report: &mut FindingReport, name: &str, expected: &str| {
        let message = format!("must be `{expected}`, as in the assignment");
        report.fault(format!("$.{name}"), OperatorRule::IdentityMismatch, message);
    };
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if text("run_id").is_some_and(|run_id| !same_run(run_id, assignment.run_id.as_str())) {
        differs(report, "run_id", assignment.run_id.as_str());
    }
    if text("task_id").is_some_and(|task_id| task_id != task.task_id.as_str()) {
        differs(report, "task_id", task.task_id.as_str());
    }
    if text("worklog_path").is_some_and(|path| !is_same_place(path, &task.worklog_path, options)) {
        differs(report, "worklog_path", &task.worklog_path);
    }
    let token = document.get("x_fencing_token").and_then(Value::as_u64);
    let Some(granted) = assignment.fencing_token() else { return };
    match token {
        Some(token) if token == granted => {}
        Some(_) => {
            let message = format!("the lock was granted with token {granted}");
            report.fault("$.x_fencing_token", OperatorRule::StaleFencingToken, message);
        }
        None if options.strict => {
            report.fault(
                "$.x_fencing_token",
                OperatorRule::Missing,
                "the token of the assignment is required",
            );
        }
        // A sender without a token is limited by its lease instead.
        None => {}
    }
}

fn is_same_place(a: &str, b: &str, options: &Options) -> bool {
    match (locks::scope_of(a, options), locks::scope_of(b, options)) {
        (Ok(a), Ok(b)) if options.fold => a.folded() == b.folded(),
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Every change is inside the lock scope and outside the forbidden scope. The task's worklog is exempt, because the
/// contract requires it.
fn check_scope(
    changed: &[ParsedPath],
    assignment: &Assignment,
    options: &Options,
    report: &mut FindingReport,
) {
    let task = &assignment.task;
    let normal = |paths: &[String]| -> Vec<ParsedPath> {
        let scopes = paths.iter().filter_map(|path| locks::scope_of(path, options).ok());
        scopes.map(|scope| ParsedPath { path: String::new(), scope }).collect()
    };
    let cover = ScopeCover::new(normal(&task.lock_scope).iter().map(|place| &place.scope), options.fold);
    let worklog = locks::scope_of(&task.worklog_path, options).ok();
    let is_worklog = |place: &ParsedPath| worklog.as_ref().is_some_and(|worklog| *worklog == place.scope);
    for place in changed.iter().filter(|place| !is_worklog(place) && !cover.contains(&place.scope)) {
        let message = format!("`{}` is not in the lock scope", place.scope);
        report.fault(place.path.as_str(), OperatorRule::OutsideLockScope, message);
    }
    let forbidden = normal(&task.forbidden_scope);
    for (place, scope) in crossing(changed, &forbidden, options) {
        if !is_worklog(place) {
            let message = format!("`{}` overlaps `{}`, which is forbidden", place.scope, scope.scope);
            report.fault(place.path.as_str(), OperatorRule::InForbiddenScope, message);
        }
    }
}

/// The requirements of `done`: all assigned criteria are present and passed, each with evidence.
fn check_done(document: &Value, options: &Options, report: &mut FindingReport) {
    let Some(checks) = document["acceptance_check"].as_array() else { return };
    if checks.is_empty() {
        report.fault(
            "$.acceptance_check",
            OperatorRule::NoChecks,
            "a result that is done must list its checks",
        );
    }
    for (index, check) in objects(&document["acceptance_check"]) {
        let path = |field: &str| format!("$.acceptance_check[{index}].{field}");
        if check["status"] == CriterionStatus::Fail.as_str() {
            report.fault(
                path("status"),
                OperatorRule::CriterionFailed,
                "a result that is done must not have a failed criterion",
            );
        }
        if check["evidence"].as_str().is_some_and(|evidence| evidence.trim().is_empty()) {
            report.fault(
                path("evidence"),
                OperatorRule::NoEvidence,
                "a criterion that passed needs evidence",
            );
        }
    }
    let Some(assignment) = options.assignment else { return };
    let criteria =
        objects(&document["acceptance_check"]).filter_map(|(_, check)| check["criterion"].as_str());
    let shown: BTreeSet<&str> = criteria.map(str::trim).collect();
    for (index, criterion) in assignment.task.acceptance_criteria.iter().enumerate() {
        if !shown.contains(criterion.trim()) {
            let message = format!("criterion {} of the assignment is missing", index + 1);
            report.fault("$.acceptance_check", OperatorRule::CriterionMissing, message);
        }
    }
}
