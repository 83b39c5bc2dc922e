//! One change of each kind that a crew can cause, on the task and the run that earlier changes created.

use contract::domain::crew::approval::Approval;
use contract::domain::crew::budget::Amount;
use contract::domain::crew::lock::{Grant, LockMode, WantedLock};
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::worklog::WorklogLine;
use contract::domain::crew::{AppliedDelta, CrewChange, Ended, reference_of};
use contract::domain::id::Id;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::time::{Lease, Now};
use contract::operator::{Blocker, Code};
use serde_json::json;

pub(super) fn one_of_each(now: &Now) -> Vec<CrewChange> {
    let lease = Lease::starting(now, std::time::Duration::ZERO);
    let row: CrewRow = serde_json::from_value(json!({"status": Status::Done})).unwrap();
    let delta = AppliedDelta { delta_id: "d".to_owned(), digest: None };
    let grant = Grant {
        token: 1,
        run_id: Id::from_bits(1),
        task_id: Id::from_bits(2),
        reference: reference_of(1),
        workspace: "/w".to_owned(),
        scopes: vec![WantedLock { scope: Scope::parse("src", None).unwrap(), mode: LockMode::Exclusive }],
        timeout_ms: 1,
        lease: lease.clone(),
        holder: None,
    };
    let blocker = Blocker {
        task_id: reference_of(1),
        code: Code::TaskTimeout,
        reason: "r".to_owned(),
        details: None,
        extra: contract::json::Map::new(),
    };
    let approval = Approval {
        id: Id::from_bits(9),
        run_id: Id::from_bits(1),
        task_id: Id::from_bits(2),
        action: "a".to_owned(),
        action_digest: "d".to_owned(),
        requested_by: "r".to_owned(),
        deadline: now.at,
        lease,
    };
    let mut changes = vec![
        CrewChange::RowWritten {
            run_id: Id::from_bits(1),
            task_id: Id::from_bits(2),
            reference: reference_of(1),
            ledger_version: 1,
            delta: Some(delta),
            row: Box::new(row),
        },
        CrewChange::LocksGranted { grant },
        CrewChange::ApprovalRequested { approval },
        CrewChange::BudgetSet { run_id: Id::from_bits(1), limit: Amount::default() },
    ];
    changes.extend(on_the_way());
    changes.extend(at_the_end());
    let (run_id, task_id) = (Id::from_bits(1), Id::from_bits(2));
    changes.push(CrewChange::BlockerRaised {
        run_id: run_id.clone(),
        task_id: task_id.clone(),
        blocker: blocker.into(),
    });
    changes.push(CrewChange::BlockerCleared { run_id, task_id });
    changes.extend(handed_over());
    changes
}

/// Changes between a grant and the result.
fn on_the_way() -> Vec<CrewChange> {
    let (run_id, task_id) = (Id::from_bits(1), Id::from_bits(2));
    let at = |make: fn(Id<_>, Id<_>) -> CrewChange| make(run_id.clone(), task_id.clone());
    vec![
        at(|run_id, task_id| CrewChange::ApprovalDecided {
            id: Id::from_bits(9),
            run_id,
            task_id,
            granted: true,
            by: "b".to_owned(),
            reason: None,
        }),
        at(|run_id, task_id| CrewChange::ApprovalUsed { id: Id::from_bits(9), run_id, task_id, token: 1 }),
        at(|run_id, task_id| CrewChange::BudgetReserved {
            token: 1,
            run_id,
            task_id,
            amount: Amount::default(),
        }),
        at(|run_id, task_id| CrewChange::AssignmentIssued {
            token: 1,
            run_id,
            task_id,
            packet: json!({}),
            token_hash: None,
        }),
        at(|run_id, task_id| CrewChange::SnapshotTaken {
            token: 1,
            run_id,
            task_id,
            snapshot: Snapshot::default(),
        }),
    ]
}

/// Changes from the result to the end of the grant.
fn at_the_end() -> Vec<CrewChange> {
    let (run_id, task_id) = (Id::from_bits(1), Id::from_bits(2));
    let at = |make: fn(Id<_>, Id<_>) -> CrewChange| make(run_id.clone(), task_id.clone());
    vec![
        at(|run_id, task_id| CrewChange::ResultAccepted {
            token: 1,
            run_id,
            task_id,
            status: "done".to_owned(),
            result: json!({}),
            checks: Vec::new(),
            changes: None,
        }),
        at(|run_id, task_id| CrewChange::BudgetBooked {
            token: 1,
            run_id,
            task_id,
            reserved: Amount::default(),
            spent: Amount::default(),
            withheld: Amount::default(),
        }),
        at(|run_id, task_id| CrewChange::BudgetSettled {
            token: 1,
            run_id,
            task_id,
            withheld: Amount::default(),
            spent: Amount::default(),
        }),
        at(|run_id, task_id| CrewChange::AssignmentEnded {
            token: 1,
            run_id,
            task_id,
            ended: Ended::Submitted,
        }),
        at(|run_id, task_id| CrewChange::LocksReleased {
            token: 1,
            run_id,
            task_id,
            reason: "r".to_owned(),
            forced_by: None,
        }),
    ]
}

/// Worklog lines and handoff imports.
fn handed_over() -> Vec<CrewChange> {
    let line = WorklogLine::following(None, "b", json!({}));
    vec![
        CrewChange::WorklogAppended {
            run_id: Id::from_bits(1),
            task_id: Id::from_bits(2),
            token: Some(1),
            line,
        },
        CrewChange::HandoffTaken {
            run_id: Id::from_bits(1),
            digest: "d".to_owned(),
            ledger_version: 2,
            fencing: 1,
            spent: Some(Amount::default()),
            deltas: vec![AppliedDelta { delta_id: "e".to_owned(), digest: None }],
            constraints: Some(json!({})),
        },
    ]
}
