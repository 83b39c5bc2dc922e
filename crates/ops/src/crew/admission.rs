//! Admission: a task gets its locks, its share of the budget and its approval, all or nothing. Assignments and engines
//! both use it.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{ApprovalId, NotApproved, admitted};
use contract::domain::crew::budget::{Amount, BudgetFault};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::run::{Run, RunId};
use contract::domain::task::Task;
use contract::operator::Code;
use store::Tx;

use super::conditions::action_digest;
use super::conflict::{self, LockConflict};
use super::denial::deny;
use super::grants::{self, LockRequest};
use super::ledger_state::LedgerState;
use super::loans;
use crate::error::{Error, Result};
use crate::limit_window::LimitConflict;
use crate::record::EventWriter;

/// What a task was granted.
#[derive(Debug, Default)]
pub(crate) struct TaskGrants {
    /// The token of the grant; `None` if nothing had to be granted.
    pub(crate) token: Option<i64>,
    pub(crate) reserved: Option<Amount>,
}

/// Why a task cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    Lock(Box<LockConflict>),
    /// `passes` if what is reserved for others would be enough.
    Budget {
        fault: BudgetFault,
        passes: bool,
    },
    Approval {
        id: ApprovalId,
        fault: NotApproved,
    },
    /// The provider of what the attempt uses refuses work for a while.
    Limit(Box<LimitConflict>),
}

impl Obstacle {
    /// Whether waiting can help.
    pub fn passes(&self) -> bool {
        match self {
            Obstacle::Lock(_) | Obstacle::Limit(_) => true,
            Obstacle::Budget { passes, .. } => *passes,
            Obstacle::Approval { fault, .. } => *fault == NotApproved::Pending,
        }
    }

    /// What the task waits for.
    pub fn awaited(&self) -> String {
        match self {
            Obstacle::Lock(conflict) => {
                let remedy = conflict.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
                format!("lock on {} held by {}{remedy}", conflict.lock.scope, conflict.held_by())
            }
            Obstacle::Budget { .. } => "budget reserved for other tasks".to_owned(),
            Obstacle::Approval { id, .. } => format!("approval {id}"),
            Obstacle::Limit(conflict) => conflict.awaited.clone(),
        }
    }

    /// The refusal of `reference`, a task of `run`, by the operator contract.
    pub fn refusal(&self, run: &Run, reference: &TaskRef) -> Error {
        match self {
            Obstacle::Lock(conflict) => conflict::refusal(run, reference, conflict),
            Obstacle::Budget { fault, .. } => deny(Code::NonCompliant, fault.rule(), fault.to_string()),
            Obstacle::Approval { id, fault } => {
                let message = format!("approval {id} for {reference}: {fault}");
                let refusal = deny(Code::NonCompliant, fault.rule(), message);
                match fault {
                    NotApproved::Pending => refusal.hint(format!("`writ approval grant {id}` grants it")),
                    _ => refusal.hint("request the same action again with `writ approval request`"),
                }
            }
            Obstacle::Limit(conflict) => {
                deny(Code::NonCompliant, "limit_window", format!("waits for {}", conflict.awaited))
            }
        }
    }
}

/// What a task needs to begin.
pub(crate) struct AdmissionRequest<'a> {
    pub(crate) locks: LockRequest<'a>,
    /// The share of the budget.
    pub(crate) share: Option<Amount>,
}

/// Grants everything. With an obstacle a part may have been written: the caller must roll the transaction back.
pub(crate) fn admit(
    work: &mut EventWriter<'_, '_>,
    request: AdmissionRequest<'_>,
) -> Result<std::result::Result<TaskGrants, Obstacle>> {
    let (run, task, reference) = (request.locks.run, request.locks.task, request.locks.reference);
    let mut admission = TaskGrants::default();
    if !request.locks.scopes.is_empty() {
        match grants::acquire(work, request.locks)? {
            Ok(grant) => admission.token = Some(grant.token),
            Err(conflict) => return Ok(Err(Obstacle::Lock(Box::new(conflict)))),
        }
    }
    if let Err(obstacle) = reserve(work, run, task, request.share, &mut admission)? {
        return Ok(Err(obstacle));
    }
    let used = use_approval(work, run, task, reference, &mut admission)?;
    Ok(used.map(|()| admission))
}

/// The token of the grant; a new one if nothing was locked.
fn token(work: &EventWriter<'_, '_>, admission: &mut TaskGrants) -> Result<i64> {
    match admission.token {
        Some(token) => Ok(token),
        None => Ok(*admission.token.insert(work.tx.next_number("fencing")?)),
    }
}

/// Reserves the share in the budget of the run, and of the runs that started it: they pay for it too, out of what the
/// tasks that started it hold.
fn reserve(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task: &Task,
    share: Option<Amount>,
    admission: &mut TaskGrants,
) -> Result<std::result::Result<(), Obstacle>> {
    if let Err(obstacle) = loans::fits(work.tx, run, share.unwrap_or_default())? {
        return Ok(Err(obstacle));
    }
    for (position, payer) in payers(work.tx, run)?.into_iter().enumerate() {
        let kept = loans::take(work, run, &payer, share.unwrap_or_default())?;
        let Some(purse) = work.tx.purse(&payer)? else { continue };
        let amount = match purse.decide_reserve(share) {
            Ok(amount) => amount,
            Err(fault) => {
                let could_hold = |share: Amount| purse.could_hold(share.plus(kept));
                let passes = matches!(fault, BudgetFault::Exhausted { .. }) && share.is_some_and(could_hold);
                return Ok(Err(Obstacle::Budget { fault, passes }));
            }
        };
        let token = if position == 0 { token(work, admission)? } else { work.tx.next_number("fencing")? };
        let reserved = CrewChange::BudgetReserved { token, run_id: payer, task_id: task.id.clone(), amount };
        let message = format!("{} and {} tokens reserved", amount.cost, amount.tokens);
        let about = crate::task::about(work.tx, task)?;
        work.change(&about, &message, &Change::Crew(reserved))?;
        admission.reserved = Some(amount);
    }
    Ok(Ok(()))
}

/// The run, and the runs that started it.
fn payers(tx: &Tx<'_>, run: &Run) -> Result<Vec<RunId>> {
    let mut found = vec![run.asked.id.clone()];
    let mut next = run.asked.parent_run.clone();
    while let Some(id) = next.take().filter(|id| !found.contains(id)) {
        let Some(parent) = tx.run(&id)? else { break };
        next = parent.asked.parent_run;
        found.push(id);
    }
    Ok(found)
}

/// A task for which approvals were ever requested needs all of them granted, and uses them up.
fn use_approval(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task: &Task,
    reference: &TaskRef,
    admission: &mut TaskGrants,
) -> Result<std::result::Result<(), Obstacle>> {
    let asked = work.tx.approvals_of_task(&task.id)?;
    if asked.is_empty() {
        return Ok(Ok(()));
    }
    let digest = action_digest(&LedgerState::load(work.tx, run.clone())?, reference)?;
    let granted = match admitted(&asked, &digest, work.now) {
        Ok(granted) => granted,
        Err((filed, fault)) => {
            return Ok(Err(Obstacle::Approval { id: filed.asked.id.clone(), fault }));
        }
    };
    let token = token(work, admission)?;
    let about = crate::task::about(work.tx, task)?;
    for filed in granted {
        let (id, run_id) = (filed.asked.id.clone(), run.asked.id.clone());
        let message = format!("Approval {id} used");
        let used = CrewChange::ApprovalUsed { id, run_id, task_id: task.id.clone(), token };
        work.change(&about, &message, &Change::Crew(used))?;
    }
    Ok(Ok(()))
}
