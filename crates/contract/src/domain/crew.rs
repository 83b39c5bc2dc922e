//! What the store records for a crew: locks, ledger rows, assignments, budgets and approvals.

pub mod approval;
pub mod budget;
pub mod lock;
pub mod row;
pub mod snapshot;
pub mod task_ref;
pub mod token;
pub mod worklog;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::check::CheckSeen;
use super::run::RunId;
use super::task::TaskId;
use crate::shape::words;
use approval::{Approval, ApprovalId};
use budget::Amount;
use lock::Grant;
use row::CrewRow;
use snapshot::Snapshot;
use task_ref::TaskRef;
use worklog::WorklogLine;

/// Every change of a crew's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "crew", rename_all = "snake_case")]
pub enum CrewChange {
    /// The new content of a ledger row. The state of its task changes with a separate event.
    RowWritten {
        run_id: RunId,
        task_id: TaskId,
        reference: TaskRef,
        /// The version of the whole ledger after this.
        ledger_version: u64,
        /// The delta that changed it; `None` if writ itself did.
        delta: Option<AppliedDelta>,
        row: Box<CrewRow>,
    },
    LocksGranted {
        grant: Grant,
    },
    LocksReleased {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        reason: String,
        /// Who took them from their holder by force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced_by: Option<String>,
    },
    AssignmentIssued {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        packet: Value,
        /// The digest of the token that another store gave its worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_hash: Option<String>,
    },
    /// The files in scope before the worker started.
    SnapshotTaken {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        snapshot: Snapshot,
    },
    AssignmentEnded {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        ended: Ended,
    },
    ResultAccepted {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        status: String,
        result: Value,
        checks: Vec<CheckSeen>,
        changes: Option<snapshot::SnapshotChanges>,
    },
    BlockerRaised {
        run_id: RunId,
        task_id: TaskId,
        blocker: CrewBlocker,
    },
    BlockerCleared {
        run_id: RunId,
        task_id: TaskId,
    },
    BudgetSet {
        run_id: RunId,
        limit: Amount,
    },
    BudgetReserved {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        amount: Amount,
    },
    /// A reservation ended: the reported part is spent, what nobody reported is withheld, and the rest is free again.
    BudgetBooked {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        reserved: Amount,
        spent: Amount,
        #[serde(default, skip_serializing_if = "Amount::is_zero")]
        withheld: Amount,
    },
    /// Someone said what a task spent that had not reported it: that part of `withheld` is spent, and the rest is free.
    BudgetSettled {
        token: i64,
        run_id: RunId,
        task_id: TaskId,
        withheld: Amount,
        spent: Amount,
    },
    ApprovalRequested {
        approval: Approval,
    },
    ApprovalDecided {
        id: ApprovalId,
        run_id: RunId,
        task_id: TaskId,
        granted: bool,
        by: String,
        reason: Option<String>,
    },
    ApprovalUsed {
        id: ApprovalId,
        run_id: RunId,
        task_id: TaskId,
        token: i64,
    },
    /// A line was appended to a task's worklog.
    WorklogAppended {
        run_id: RunId,
        task_id: TaskId,
        /// The token of the worker that wrote it; `None` if no worker held the task.
        token: Option<i64>,
        line: WorklogLine,
    },
    /// A ledger was imported from another store: its version, and the ids of its deltas.
    HandoffTaken {
        run_id: RunId,
        /// The digest of the imported bundle.
        digest: String,
        ledger_version: u64,
        /// The highest token that was granted in the other store.
        fencing: i64,
        /// What was spent in the other store, if there is a budget.
        spent: Option<Amount>,
        deltas: Vec<AppliedDelta>,
        /// The constraints of the run, if they are not writ's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        constraints: Option<Value>,
    },
}

/// Why a task is blocked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrewBlocker {
    pub task_id: TaskRef,
    /// The cause, for programs.
    pub code: String,
    /// The cause, for people.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The id of an applied delta, and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedDelta {
    pub delta_id: String,
    pub digest: Option<String>,
}

words! {
    /// How an assignment ended.
    Ended {
        Submitted = "submitted",
        TimedOut = "timed_out",
        /// The row was changed by someone else: canceled, blocked, abandoned.
        Withdrawn = "withdrawn",
    }
}

impl CrewChange {
    pub fn kind(&self) -> &'static str {
        match self {
            CrewChange::RowWritten { .. } => "ledger_row",
            CrewChange::LocksGranted { .. } => "locks_granted",
            CrewChange::LocksReleased { .. } => "locks_released",
            CrewChange::AssignmentIssued { .. } => "assignment_issued",
            CrewChange::SnapshotTaken { .. } => "snapshot_taken",
            CrewChange::AssignmentEnded { .. } => "assignment_ended",
            CrewChange::ResultAccepted { .. } => "result_accepted",
            CrewChange::BlockerRaised { .. } => "blocker_raised",
            CrewChange::BlockerCleared { .. } => "blocker_cleared",
            CrewChange::BudgetSet { .. } => "budget_set",
            CrewChange::BudgetReserved { .. } => "budget_reserved",
            CrewChange::BudgetBooked { .. } => "budget_booked",
            CrewChange::BudgetSettled { .. } => "budget_settled",
            CrewChange::ApprovalRequested { .. } => "approval_requested",
            CrewChange::ApprovalDecided { .. } => "approval_decided",
            CrewChange::ApprovalUsed { .. } => "approval_used",
            CrewChange::WorklogAppended { .. } => "worklog_appended",
            CrewChange::HandoffTaken { .. } => "handoff_taken",
        }
    }

    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            CrewChange::RowWritten { task_id, .. }
            | CrewChange::LocksReleased { task_id, .. }
            | CrewChange::AssignmentIssued { task_id, .. }
            | CrewChange::SnapshotTaken { task_id, .. }
            | CrewChange::AssignmentEnded { task_id, .. }
            | CrewChange::ResultAccepted { task_id, .. }
            | CrewChange::BlockerRaised { task_id, .. }
            | CrewChange::BlockerCleared { task_id, .. }
            | CrewChange::BudgetReserved { task_id, .. }
            | CrewChange::BudgetBooked { task_id, .. }
            | CrewChange::BudgetSettled { task_id, .. }
            | CrewChange::ApprovalDecided { task_id, .. }
            | CrewChange::ApprovalUsed { task_id, .. }
            | CrewChange::WorklogAppended { task_id, .. } => Some(task_id),
            CrewChange::LocksGranted { grant } => Some(&grant.task_id),
            CrewChange::ApprovalRequested { approval } => Some(&approval.task_id),
            CrewChange::BudgetSet { .. } | CrewChange::HandoffTaken { .. } => None,
        }
    }
}

/// Numbers from here on are used for tasks whose name in operator documents is not a number.
const UNNUMBERED_FROM: i64 = 1 << 40;

/// The number in `T-<n>`. Other spellings, such as `T-07`, are different names and have none.
pub fn number_of(reference: &TaskRef) -> Option<i64> {
    let digits = reference.as_str().strip_prefix("T-")?;
    let number: i64 = digits.parse().ok()?;
    (number < UNNUMBERED_FROM && number.to_string() == digits).then_some(number)
}

/// The number of a task whose name has none, if `others` such tasks of the run have one already.
pub fn unnumbered(others: usize) -> i64 {
    UNNUMBERED_FROM.saturating_add(i64::try_from(others).unwrap_or(i64::MAX))
}

/// The name of a plan's task in operator documents.
pub fn reference_of(number: i64) -> TaskRef {
    TaskRef::parse(&format!("T-{}", number.max(0))).expect("BUG: a number makes a name")
}

#[cfg(test)]
mod tests;
