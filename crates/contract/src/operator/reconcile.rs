//! Whether a ledger agrees with its locks, events, blockers and results. Reports everything, repairs nothing.

mod cycles;
mod issue;
mod records;

pub use issue::{Issue, IssueRule};

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::document;
use super::ids::RunId;
use super::locks::{self, Lock};
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use super::watchdog::{HeartbeatState, liveness};
use crate::domain::limits;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::shape::{Described, Object, Shape, TEXT, UTC, Unknown, list, optional, required};
use crate::verdict::Verdict;
pub(super) use records::Records;
use records::{HeartbeatRecord, LedgerRecord};

const KIND: &str = "reconcile";

const ANYTHING: Shape = list!(Shape::Anything);

/// What is reconciled. Faulty rows and events are issues, so their shape is not checked here. Blockers,
/// results and locks are checked if they are present.
pub static RECONCILE: Object = Object {
    name: "operator_reconcile",
    about: "A ledger and everything that has to agree with it.",
    fields: &[
        required("ledger", ANYTHING, "One row for each task."),
        optional("active_locks", <Vec<Lock>>::SHAPE, "All locks, released ones included."),
        optional("events", ANYTHING, "What happened; each names its task."),
        optional("blockers", ANYTHING, "Why tasks are blocked."),
        optional("results", ANYTHING, "The validated results of tasks that are done."),
        optional("now", UTC, "The time at which heartbeats are checked."),
        optional(
            "check_locks",
            Shape::Bool,
            "Whether a task in progress must hold a lock; by default only if `active_locks` is present.",
        ),
        optional("schema_version", TEXT, "Version of the contract."),
        optional("run_id", RunId::SHAPE, "The run."),
        optional("generated_at", UTC, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates `{ledger, active_locks, events, …}`. All issues are in the details.
pub fn validate_reconcile(bytes: &[u8], options: &Options) -> Verdict {
    let document = match document::read(KIND, bytes) {
        Ok(document) => document,
        Err(refusal) => return *refusal,
    };
    let mut report = document::structure(&RECONCILE, &document, options);
    let locks = locks::read(&document["active_locks"], "$.active_locks", options, &mut report);
    if !report.is_clean() {
        return report.verdict(KIND, "");
    }
    let counts = [
        ("task_count", count(&document["ledger"])),
        ("active_lock_count", locks.iter().filter(|lock| lock.active).count()),
        ("event_count", count(&document["events"])),
    ];
    let mut records = Records::of_ledger(&document["ledger"], options);
    records.now = document["now"].as_str().and_then(Timestamp::parse_utc).or(options.now);
    let asked = document["check_locks"].as_bool().or(options.check_locks);
    if document.get("active_locks").is_some() || asked == Some(true) {
        records.set_locks(locks);
    }
    records.check_locks = asked;
    records.set_events(&document["events"]);
    records.set_blockers(&document["blockers"]);
    records.set_results(&document["results"], options);
    for issue in reconcile(&records) {
        report_issue(&issue, &mut report);
    }
    if report.is_clean() {
        for (name, count) in counts {
            report.note(name, count);
        }
    }
    report.verdict(KIND, "ledger reconciliation passed")
}

fn count(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

pub(super) fn report_issue(issue: &Issue, report: &mut FindingReport) {
    // A duplicate row makes all others doubtful, so it has its own rule.
    let rule = if issue.rule == IssueRule::DuplicateTask {
        OperatorRule::DuplicateTask
    } else {
        OperatorRule::Reconcile
    };
    report.fault(issue.path.as_str(), rule, format!("{}: {}", issue.rule.as_str(), issue.message));
    report.list("issues", json!(issue));
}

/// Every contradiction, sorted by rule and task.
pub(super) fn reconcile(records: &Records) -> Vec<Issue> {
    let mut issues = records.unreadable.clone();
    for row in &records.rows {
        check_dependencies(records, row, &mut issues);
        match row.status {
            Some(Status::InProgress) => check_in_progress(records, row, &mut issues),
            Some(Status::Blocked) if records.lacks_blocker(row.task_id) => {
                let message = format!("{} is blocked and has no blocker", row.task_id);
                issues.push(row.issue(IssueRule::BlockedWithoutBlocker, message));
            }
            Some(Status::Done) if records.lacks_result(row.task_id) => {
                let message = format!("{} is done and has no validated result", row.task_id);
                issues.push(row.issue(IssueRule::DoneWithoutResult, message));
            }
            Some(_) | None => {}
        }
    }
    check_locks(records, &mut issues);
    check_events(records, &mut issues);
    for cycle in cycles::cycles(&records.rows) {
        let names: Vec<&str> = cycle.iter().map(|at| records.rows[*at].task_id).collect();
        let message = format!("the dependencies of {} form a cycle", names.join(", "));
        issues.push(records.rows[cycle[0]].issue(IssueRule::DependencyCycle, message));
    }
    issues.sort();
    issues.dedup();
    issues
}

fn check_dependencies(records: &Records, row: &LedgerRecord, issues: &mut Vec<Issue>) {
    for dependency in &row.dependencies {
        let Some(other) = records.row(dependency) else {
            let message = format!("{} depends on {dependency}, which is not in the ledger", row.task_id);
            issues.push(row.issue(IssueRule::UnknownDependency, message));
            continue;
        };
        let (Some(status), Some(other)) = (row.status, other.status) else { continue };
        let message = || format!("{} is {status} and depends on {dependency}, which is {other}", row.task_id);
        match (status, other) {
            (Status::InProgress | Status::Done, other) if other != Status::Done => {
                issues.push(row.issue(IssueRule::DependencyNotDone, message()));
            }
            (Status::Todo, Status::Failed | Status::Canceled) => {
                issues.push(row.issue(IssueRule::DependencyLost, message()));
            }
            _ => {}
        }
    }
}

fn check_in_progress(records: &Records, row: &LedgerRecord, issues: &mut Vec<Issue>) {
    let mut issue = |rule, message: String| issues.push(row.issue(rule, message));
    let has_owner = !row.owner.trim().is_empty();
    if !has_owner {
        issue(IssueRule::NoOwner, format!("{} is in progress and has no owner", row.task_id));
    }
    // A row without an owner has no lock for the same reason, so by default its lock is only missing if it has a lock
    // scope.
    let needs_lock = records.check_locks.unwrap_or(has_owner || row.has_lock_scope);
    if needs_lock && records.lacks_lock(row.task_id) {
        issue(IssueRule::NoLock, format!("{} is in progress and holds no lock", row.task_id));
    }
    if row.timed_out {
        issue(IssueRule::TimedOutInProgress, format!("{} timed out and is still in progress", row.task_id));
    }
    let heartbeat = match row.heartbeat {
        HeartbeatRecord::At(heartbeat) => heartbeat,
        HeartbeatRecord::Absent if records.now.is_none() => return,
        HeartbeatRecord::Absent | HeartbeatRecord::Null | HeartbeatRecord::Unreadable => {
            return issue(
                IssueRule::NoHeartbeat,
                format!("{} is in progress and has sent no heartbeat", row.task_id),
            );
        }
    };
    let Some(now) = records.now else { return };
    match liveness(now, heartbeat, row.timeout.unwrap_or(Duration::MAX)) {
        HeartbeatState::Live { .. } => {}
        HeartbeatState::InFuture => {
            let skew = limits::CLOCK_SKEW_MAX.as_secs();
            let message = format!("the heartbeat of {} is more than {skew} s ahead of now", row.task_id);
            issue(IssueRule::HeartbeatInFuture, message);
        }
        HeartbeatState::TimedOut { age } => {
            let message = format!("{} has sent no heartbeat for {} s", row.task_id, age.as_secs());
            issue(IssueRule::HeartbeatTooOld, message);
        }
    }
}

fn check_locks(records: &Records, issues: &mut Vec<Issue>) {
    for lock in records.active_locks() {
        let (task_id, scope) = (lock.task_id, &lock.place.scope);
        let issue = |rule, message| Issue::new(rule, task_id, &lock.place.path, message);
        match records.row(task_id).map(|row| row.status) {
            None => {
                let message = format!("`{scope}` is held by {task_id}, which is not in the ledger");
                issues.push(issue(IssueRule::LockOfUnknownTask, message));
            }
            Some(Some(status)) if status.is_terminal() => {
                let message = format!("{task_id} is {status} and still holds `{scope}`");
                issues.push(issue(IssueRule::LockOfFinishedTask, message));
            }
            Some(_) => {}
        }
    }
    for (a, b) in records.overlaps() {
        let (own, other) = (&a.place.scope, &b.place.scope);
        let message = format!("`{own}` of {} overlaps `{other}` of {}", a.task_id, b.task_id);
        issues.push(Issue::new(IssueRule::LocksOverlap, a.task_id, &a.place.path, message));
    }
}

fn check_events(records: &Records, issues: &mut Vec<Issue>) {
    let mut unknown: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, task_id) in records.events.iter().filter(|(_, task_id)| records.row(task_id).is_none()) {
        unknown.entry(task_id).or_insert(path);
    }
    for (task_id, path) in unknown {
        let message = format!("an event names `{task_id}`, which is not in the ledger");
        issues.push(Issue::new(IssueRule::EventOfUnknownTask, task_id, path, message));
    }
}
