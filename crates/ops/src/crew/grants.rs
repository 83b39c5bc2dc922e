//! Grants and releases locks, and books what was reserved with them.

use std::collections::BTreeSet;
use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::crew::budget::{Booking, Spent};
use contract::domain::crew::lock::{Grant, HeldLock, LockRefusal, WantedLock, lease, obstacle, place};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{CrewChange, Ended};
use contract::domain::run::{Owner, Run};
use contract::domain::task::{Task, TaskId};
use store::Tx;

use super::conflict::LockConflict;
use super::denial::refused;
use super::loans;
use crate::error::Result;
use crate::record::EventWriter;

/// The locks that a task requests. The scopes are in the run's workspace, without symbolic links.
pub(crate) struct LockRequest<'a> {
    pub(crate) run: &'a Run,
    pub(crate) task: &'a Task,
    pub(crate) reference: &'a TaskRef,
    pub(crate) scopes: Vec<WantedLock>,
    pub(crate) timeout: Duration,
    pub(crate) fold: bool,
    /// The engine that will work under them; `None` where only their lease protects them.
    pub(crate) holder: Option<&'a Owner>,
}

/// Grants all or nothing. An expired lock still conflicts until a watchdog sweep releases it. The locks that the task
/// held before are released, and its old token becomes invalid.
pub(crate) fn acquire(
    work: &mut EventWriter<'_, '_>,
    asked: LockRequest<'_>,
) -> Result<std::result::Result<Grant, LockConflict>> {
    if asked.scopes.is_empty() {
        return Err(refused(LockRefusal::Nothing));
    }
    if let Some(conflict) = find_conflict(work.tx, &asked)? {
        return Ok(Err(conflict));
    }
    let before = distinct(&work.tx.locks_of_task(&asked.task.id)?);
    // An engine has its run only once the engine before it is gone. Nobody else knows whether that one is.
    if let Some(lock) = before.iter().find(|lock| asked.holder.is_none() && lock.holder.is_some()) {
        return Ok(Err(LockConflict {
            lock: lock.clone(),
            wanted: lock.place.clone(),
            remains: None,
            pid: None,
        }));
    }
    for held in before {
        release(work, &held, "granted again")?;
    }
    let grant = Grant {
        token: work.tx.next_number("fencing")?,
        run_id: asked.run.asked.id.clone(),
        task_id: asked.task.id.clone(),
        reference: asked.reference.clone(),
        workspace: asked.run.asked.workspace.clone(),
        scopes: asked.scopes,
        timeout_ms: u64::try_from(asked.timeout.as_millis()).unwrap_or(u64::MAX),
        lease: lease(work.now, asked.timeout),
        holder: asked.holder.cloned(),
    };
    let about = crate::task::about(work.tx, asked.task)?;
    let names: Vec<&str> = grant.scopes.iter().map(|wanted| wanted.scope.as_str()).collect();
    let message = format!("{} holds {} with token {}", grant.reference, names.join(", "), grant.token);
    work.change(&about, &message, &Change::Crew(CrewChange::LocksGranted { grant: grant.clone() }))?;
    Ok(Ok(grant))
}

/// The first lock of another task that overlaps the request.
pub(crate) fn find_conflict(tx: &Tx<'_>, asked: &LockRequest<'_>) -> Result<Option<LockConflict>> {
    let above = ancestors(tx, asked.run)?;
    for scope in &asked.scopes {
        let place = place(&asked.run.asked.workspace, &scope.scope)
            .map_err(|fault| refused(LockRefusal::Scope(fault)))?;
        let mut around = tx.locks_around(&place)?;
        around.retain(|lock| !above.contains(&lock.task_id));
        let wanted = (place, scope.mode);
        if let Some(lock) = obstacle(&asked.task.id, std::slice::from_ref(&wanted), &around, asked.fold) {
            return Ok(Some(LockConflict { lock: lock.clone(), wanted: wanted.0, remains: None, pid: None }));
        }
    }
    Ok(None)
}

/// The tasks that started a run, from the inside out. Their locks do not conflict with the run's.
pub(crate) fn ancestors(tx: &Tx<'_>, run: &Run) -> Result<Vec<TaskId>> {
    let mut found = Vec::new();
    let mut next = run.asked.parent_task.clone();
    while let Some(id) = next.take().filter(|id| !found.contains(id)) {
        let Some(part) = tx.task(&id)?.and_then(|task| task.part) else { break };
        next = tx.run(&part.run_id)?.and_then(|run| run.asked.parent_task);
        found.push(id);
    }
    Ok(found)
}

/// One lock of each grant.
fn distinct(held: &[HeldLock]) -> Vec<HeldLock> {
    let mut seen = BTreeSet::new();
    held.iter().filter(|lock| seen.insert(lock.token)).cloned().collect()
}

/// Releases all locks of a grant.
pub(crate) fn release(work: &mut EventWriter<'_, '_>, held: &HeldLock, reason: &str) -> Result<()> {
    release_by(work, held, reason, None)
}

/// The same, with the name of who took them from their holder by force.
pub(crate) fn release_by(
    work: &mut EventWriter<'_, '_>,
    held: &HeldLock,
    reason: &str,
    forced_by: Option<&str>,
) -> Result<()> {
    let task = crate::task::required(work.tx, held.task_id.as_str())?;
    let about = crate::task::about(work.tx, &task)?;
    let released = CrewChange::LocksReleased {
        token: held.token,
        run_id: held.run_id.clone(),
        task_id: held.task_id.clone(),
        reason: reason.to_owned(),
        forced_by: forced_by.map(str::to_owned),
    };
    let message = format!("{} released token {}: {reason}", held.reference, held.token);
    work.change(&about, &message, &Change::Crew(released))?;
    Ok(())
}

/// Releases a task's locks, books what was reserved for it, and ends its open assignment.
pub(crate) fn let_go(work: &mut EventWriter<'_, '_>, task: &Task, ended: Ended, spent: Spent) -> Result<()> {
    let Some(part) = &task.part else { return Ok(()) };
    for held in distinct(&work.tx.locks_of_task(&task.id)?) {
        release(work, &held, ended.as_str())?;
    }
    book(work, task, spent)?;
    let Some(open) = work.tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none()) else {
        return Ok(());
    };
    let about = crate::task::about(work.tx, task)?;
    let over = CrewChange::AssignmentEnded {
        token: open.token,
        run_id: part.run_id.clone(),
        task_id: task.id.clone(),
        ended,
    };
    work.change(&about, &format!("Assignment {} {}", open.token, ended.as_str()), &Change::Crew(over))?;
    Ok(())
}

/// Books the reservations of a task: what was reported is spent, what was not is withheld, the rest is free again, or
/// held by the task that started its run.
pub(crate) fn book(work: &mut EventWriter<'_, '_>, task: &Task, spent: Spent) -> Result<()> {
    for open in work.tx.open_reservations(&task.id)? {
        let Booking { spent, withheld } = spent.of(open.amount);
        let booked = CrewChange::BudgetBooked {
            token: open.token,
            run_id: open.run_id.clone(),
            task_id: task.id.clone(),
            reserved: open.amount,
            spent,
            withheld,
        };
        let message = if withheld.is_zero() {
            "Budget booked".to_owned()
        } else {
            format!("Budget booked; {} and {} tokens are withheld", withheld.cost, withheld.tokens)
        };
        let about = crate::task::about(work.tx, task)?;
        work.change(&about, &message, &Change::Crew(booked))?;
        let unused = open.amount.minus(spent).minus(withheld);
        loans::give_back(work, task, &open.run_id, unused)?;
    }
    Ok(())
}
