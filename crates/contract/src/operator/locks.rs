//! The lock table: who holds which part of the workspace.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::assignment::shape::TOKEN;
use super::conflict::{OverlapEntry, PathClaim, overlapping};
use super::document::{self, objects, texts};
use super::ids::RunId;
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::trust;
use crate::domain::crew::lock::LockMode;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::scope::{Scope, ScopeFault};
use crate::shape::{Described, Object, TEXT, UTC, Unknown, document, optional, required, whole_or_none};
use crate::verdict::Verdict;

const KIND: &str = "locks";

document! {
    /// One lock: a task holds a resource while it is active.
    #[shape(name = "operator_lock", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Lock {
        /// The task that holds it.
        pub task_id: TaskRef,
        /// A file, or a directory with its contents.
        // As its author wrote it.
        pub resource: String,
        /// Whether it is active.
        pub active: bool,
        /// Shared locks do not conflict with each other.
        pub x_mode: Option<LockMode>,
        // Increases with every grant of the run, so that an earlier holder is recognized.
        /// The fencing token of its grant.
        #[serde(deserialize_with = "whole_or_none")]
        pub x_fencing_token: Option<u64> as TOKEN,
        #[serde(flatten)]
        pub extra: Map<String, Value>,
    }
}

impl Lock {
    /// The lock in normal form.
    pub fn claim(&self, options: &Options) -> Result<PathClaim, ScopeFault> {
        let scope = scope_of(&self.resource, options)?;
        let mode = self.x_mode.unwrap_or(LockMode::Exclusive);
        Ok(PathClaim { task_id: self.task_id.clone(), scope, mode, active: self.active })
    }
}

/// A lock table as a separate document. The common fields are optional.
pub static LOCK_TABLE: Object = Object {
    name: "operator_locks",
    about: "All locks of a run.",
    fields: &[
        required("locks", <Vec<Lock>>::SHAPE, "The locks, released ones included."),
        optional("schema_version", TEXT, "Version of the contract."),
        optional("run_id", RunId::SHAPE, "The run they belong to."),
        optional("generated_at", UTC, "When it was written."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates a lock table: no two active locks of different tasks may overlap.
pub fn validate_locks(bytes: &[u8], options: &Options) -> Verdict {
    let document = match document::read(KIND, bytes) {
        Ok(document) => document,
        Err(refusal) => return *refusal,
    };
    let mut report = document::structure(&LOCK_TABLE, &document, options);
    let locks = read(&document["locks"], "$.locks", options, &mut report);
    check_overlaps(&locks, options, &mut report);
    trust::examine(&document, options, &mut report);
    if report.is_clean() {
        report.note("active_lock_count", locks.iter().filter(|lock| lock.active).count());
    }
    report.verdict(KIND, "no active lock overlap")
}

/// A path in normal form, with symbolic links resolved if they are known.
pub(super) fn scope_of(text: &str, options: &Options) -> Result<Scope, ScopeFault> {
    let scope = Scope::parse(text, options.root)?;
    match options.links {
        Some(links) => scope.follow(links, options.root),
        None => Ok(scope),
    }
}

/// The same, for a path in a document; a fault is reported at its place.
pub(super) fn scope_at(
    text: &str,
    place: &str,
    options: &Options,
    report: &mut FindingReport,
) -> Option<Scope> {
    let scope = match scope_of(text, options) {
        Ok(scope) => scope,
        Err(fault) => {
            let rule = OperatorRule::parse(fault.rule()).expect("BUG: every fault of a scope is a rule here");
            report.fault(place, rule, fault.to_string());
            return None;
        }
    };
    if options.strict && options.root.is_none() && scope.is_absolute() {
        report.fault(place, OperatorRule::WorkspaceEscape, "is absolute, but no root is given");
    }
    Some(scope)
}

/// A path in normal form, and its place in the document.
#[derive(Debug)]
pub(super) struct ParsedPath {
    pub(super) path: String,
    pub(super) scope: Scope,
}

/// The paths of a list, in normal form.
pub(super) fn places(
    value: &Value,
    at: &str,
    options: &Options,
    report: &mut FindingReport,
) -> Vec<ParsedPath> {
    let mut found = Vec::new();
    for (index, text) in texts(value) {
        let path = format!("{at}[{index}]");
        if let Some(scope) = scope_at(text, &path, options, report) {
            found.push(ParsedPath { path, scope });
        }
    }
    found
}

/// A lock of a document, in normal form.
#[derive(Debug)]
pub(super) struct ParsedLock<'v> {
    pub(super) place: ParsedPath,
    pub(super) task_id: &'v str,
    pub(super) shared: bool,
    pub(super) active: bool,
}

/// The locks of a list; elements that are not locks have been reported by the shape.
pub(super) fn read<'v>(
    value: &'v Value,
    at: &str,
    options: &Options,
    report: &mut FindingReport,
) -> Vec<ParsedLock<'v>> {
    let mut locks = Vec::new();
    for (index, lock) in objects(value) {
        let path = format!("{at}[{index}].resource");
        let text = |name: &str| lock.get(name).and_then(Value::as_str);
        let (Some(task_id), Some(resource)) = (text("task_id"), text("resource")) else { continue };
        let Some(scope) = scope_at(resource, &path, options, report) else { continue };
        let shared = text("x_mode") == Some(LockMode::Shared.as_str());
        locks.push(ParsedLock {
            place: ParsedPath { path, scope },
            task_id,
            shared,
            active: lock["active"] == true,
        });
    }
    locks
}

/// Reports every pair of active locks of different tasks that overlap.
pub(super) fn check_overlaps(locks: &[ParsedLock], options: &Options, report: &mut FindingReport) {
    for (a, b) in overlapping_pairs(locks, options.fold, limits::FINDINGS_MAX) {
        report_conflict(a, b.task_id, &b.place, OperatorRule::Overlap, report);
    }
}

/// The pairs of active locks of different tasks that overlap, in an order that does not depend on the table's.
pub(super) fn overlapping_pairs<'l, 'v>(
    locks: &'l [ParsedLock<'v>],
    fold: bool,
    most: usize,
) -> Vec<(&'l ParsedLock<'v>, &'l ParsedLock<'v>)> {
    let mut tasks: Vec<&str> = locks.iter().map(|lock| lock.task_id).collect();
    tasks.sort_unstable();
    let group = |lock: &ParsedLock| tasks.partition_point(|task| *task < lock.task_id);
    let active = locks.iter().enumerate().filter(|(_, lock)| lock.active);
    let entries = active.map(|(index, lock)| {
        OverlapEntry::new(&lock.place.scope, fold, group(lock), index).shared(lock.shared)
    });
    let pairs = overlapping(entries.collect(), most).into_iter().map(|(a, b)| (&locks[a], &locks[b]));
    let mut pairs: Vec<_> = pairs.map(|(a, b)| if name(a) <= name(b) { (a, b) } else { (b, a) }).collect();
    pairs.sort_by_key(|(a, b)| (name(a), name(b)));
    pairs
}

fn name<'l>(lock: &'l ParsedLock) -> (&'l str, &'l str) {
    (lock.task_id, lock.place.scope.as_str())
}

/// Reports that a path of `task_id` at `place` conflicts with a lock.
pub(super) fn report_conflict(
    lock: &ParsedLock,
    task_id: &str,
    place: &ParsedPath,
    rule: OperatorRule,
    report: &mut FindingReport,
) {
    let message =
        format!("`{}` of {task_id} overlaps `{}` of {}", place.scope, lock.place.scope, lock.task_id);
    report.fault(place.path.as_str(), rule, message);
    report.list(
        "conflicts",
        json!({
            "task_a": lock.task_id,
            "resource_a": lock.place.scope.as_str(),
            "task_b": task_id,
            "resource_b": place.scope.as_str(),
        }),
    );
}
