//! Letting work begin: locks, a share of the budget and a person's word, all of it or nothing. Whoever gives a task out
//! and whoever runs it himself come through here.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{ApprovalId, NotApproved};
use contract::domain::crew::budget::{Amount, BudgetFault};
use contract::domain::run::{Run, RunId};
use contract::domain::task::Task;
use contract::operator::{Code, TaskRef};
use store::Tx;

use super::conditions::action_digest;
use super::denial::deny;
use super::grants::{self, LockRequest, Obstacle, conflict};
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::record::EventWriter;

/// What was granted.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// The number of the grant; none where nothing had to be granted.
    pub(crate) token: Option<i64>,
    pub(crate) reserved: Option<Amount>,
}

/// Why work does not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    Lock(Box<Obstacle>),
    /// `passes` where what others have reserved would be enough.
    Budget {
        fault: BudgetFault,
        passes: bool,
    },
    Approval {
        id: ApprovalId,
        fault: NotApproved,
    },
}

impl Hindrance {
    /// Whether it goes away without anybody asking for something else.
    pub fn passes(&self) -> bool {
        match self {
            Hindrance::Lock(_) => true,
            Hindrance::Budget { passes, .. } => *passes,
            Hindrance::Approval { fault, .. } => *fault == NotApproved::Pending,
        }
    }

    /// What is waited for.
    pub fn awaited(&self) -> String {
        match self {
            Hindrance::Lock(obstacle) => {
                let lock = &obstacle.lock;
                format!("lock on {} held by {} of {}", lock.scope, lock.reference, lock.run_id)
            }
            Hindrance::Budget { .. } => "budget that is reserved for others".to_owned(),
            Hindrance::Approval { id, .. } => format!("approval {id}"),
        }
    }

    /// The operator contract's refusal of `reference`, a task of `run`.
    pub fn refusal(&self, run: &Run, reference: &TaskRef) -> Error {
        match self {
            Hindrance::Lock(obstacle) => conflict(run, reference, obstacle),
            Hindrance::Budget { fault, .. } => deny(Code::NonCompliant, fault.rule(), fault.to_string()),
            Hindrance::Approval { id, fault } => {
                let message = format!("approval {id} for {reference}: {fault}");
                deny(Code::NonCompliant, fault.rule(), message)
            }
        }
    }
}

/// What is asked for, and the share of the budget that goes with it.
pub(crate) struct Wish<'a> {
    pub(crate) asked: LockRequest<'a>,
    pub(crate) share: Option<Amount>,
}

/// Grants everything. What comes back as a hindrance may have written a part: the caller gives the transaction up.
pub(crate) fn admit(
    work: &mut EventWriter<'_, '_>,
    wish: Wish<'_>,
) -> Result<std::result::Result<Admitted, Hindrance>> {
    let (run, task, reference) = (wish.asked.run, wish.asked.task, wish.asked.reference);
    let mut admitted = Admitted::default();
    if !wish.asked.scopes.is_empty() {
        match grants::acquire(work, wish.asked)? {
            Ok(grant) => admitted.token = Some(grant.token),
            Err(obstacle) => return Ok(Err(Hindrance::Lock(Box::new(obstacle)))),
        }
    }
    if let Err(hindrance) = reserve(work, run, task, wish.share, &mut admitted)? {
        return Ok(Err(hindrance));
    }
    let used = use_approval(work, run, task, reference, &mut admitted)?;
    Ok(used.map(|()| admitted))
}

/// The number of the grant, taken now if nothing was locked.
fn token(work: &EventWriter<'_, '_>, admitted: &mut Admitted) -> Result<i64> {
    match admitted.token {
        Some(token) => Ok(token),
        None => Ok(*admitted.token.insert(work.tx.next_number("fencing")?)),
    }
}

/// Takes the worker's share out of what the run has left, and out of what the runs above it have left: what a run
/// spends, whoever started it spends too.
fn reserve(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task: &Task,
    share: Option<Amount>,
    admitted: &mut Admitted,
) -> Result<std::result::Result<(), Hindrance>> {
    for (position, payer) in payers(work.tx, run)?.into_iter().enumerate() {
        let Some(purse) = work.tx.purse(&payer)? else { continue };
        let amount = match purse.decide_reserve(share) {
            Ok(amount) => amount,
            Err(fault) => {
                let passes = fault == BudgetFault::Exhausted && share.is_some_and(|s| purse.could_hold(s));
                return Ok(Err(Hindrance::Budget { fault, passes }));
            }
        };
        let token = if position == 0 { token(work, admitted)? } else { work.tx.next_number("fencing")? };
        let reserved = CrewChange::BudgetReserved { token, run_id: payer, task_id: task.id.clone(), amount };
        let message = format!("{} and {} tokens reserved", amount.cost, amount.tokens);
        let about = crate::task::about(work.tx, task)?;
        work.change(&about, &message, &Change::Crew(reserved))?;
        admitted.reserved = Some(amount);
    }
    Ok(Ok(()))
}

/// The run, and the runs from inside which it was started.
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

/// Where an approval was ever asked for, the task begins with a granted one, once.
fn use_approval(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task: &Task,
    reference: &TaskRef,
    admitted: &mut Admitted,
) -> Result<std::result::Result<(), Hindrance>> {
    let asked = work.tx.approvals_of_task(&task.id)?;
    let Some(last) = asked.last() else { return Ok(Ok(())) };
    let digest = action_digest(&Sheet::load(work.tx, run.clone())?, reference)?;
    let good = asked.iter().find(|filed| filed.admit(&digest, work.now).is_ok());
    let Some(good) = good else {
        let fault = last.admit(&digest, work.now).expect_err("BUG: none of them is good");
        return Ok(Err(Hindrance::Approval { id: last.asked.id.clone(), fault }));
    };
    let token = token(work, admitted)?;
    let (id, run_id) = (good.asked.id.clone(), run.asked.id.clone());
    let message = format!("Approval {id} used");
    let used = CrewChange::ApprovalUsed { id, run_id, task_id: task.id.clone(), token };
    let about = crate::task::about(work.tx, task)?;
    work.change(&about, &message, &Change::Crew(used))?;
    Ok(Ok(()))
}
