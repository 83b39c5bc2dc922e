//! The locks of a rollback: those of a writer, held by the process that rolls back.

use contract::domain::code::ErrorCode;
use contract::domain::crew::lock::{LockMode, WantedLock};
use contract::domain::limits;
use contract::domain::rollback::Stage;
use contract::domain::run::Owner;
use contract::domain::scope::Scope;
use contract::domain::task::Task;

use super::RollbackSubject;
use crate::context::{Caller, Context};
use crate::crew::conflict::{self, LockConflict};
use crate::crew::grants::{self, LockRequest};
use crate::crew::ledger_state::reference_of_task;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::EventWriter;

/// Nobody may write there meanwhile, so it needs the same locks as a writer.
pub(super) fn lock(
    work: &mut EventWriter<'_, '_>,
    subject: &RollbackSubject,
    scopes: &[Scope],
    owner: &Owner,
) -> Result<()> {
    let (run, task) = (&subject.run, &subject.task);
    let reference = reference_of_task(work.tx, task)?;
    for held in work.tx.locks_of_task(&task.id)? {
        let Some(holder) = held.holder.as_ref().filter(|holder| *holder != owner) else { continue };
        let remains = work.view.remains(holder)?;
        if !remains.may_be_swept() {
            let wanted = held.place.clone();
            let conflict = LockConflict { lock: held, wanted, remains: Some(remains), pid: None };
            return Err(conflict::refusal(run, &reference, &conflict));
        }
    }
    let request = LockRequest {
        run,
        task,
        reference: &reference,
        scopes: scopes
            .iter()
            .map(|scope| WantedLock { scope: scope.clone(), mode: LockMode::Exclusive })
            .collect(),
        timeout: limits::ENGINE_LOCK_LEASE,
        fold: work.view.folds_case(&run.asked.workspace)?,
        holder: Some(owner),
    };
    let granted = grants::acquire(work, request)?;
    granted.map(drop).map_err(|conflict| {
        conflict::refusal(run, &reference, &conflict).hint("wait until that task has ended, or cancel it")
    })
}

/// Refuses what would let the task begin while a process rolls it back. One that died is no obstacle.
pub(crate) fn refuse_meanwhile(work: &EventWriter<'_, '_>, task: &Task) -> Result<()> {
    let newest = work.tx.attempts_of_task(&task.id)?.pop();
    let rollback = newest.and_then(|attempt| attempt.rollback);
    if rollback.is_none_or(|rollback| rollback.stage == Stage::Ended) {
        return Ok(());
    }
    for holder in work.tx.locks_of_task(&task.id)?.iter().filter_map(|held| held.holder.as_ref()) {
        if !work.view.remains(holder)?.may_be_swept() {
            let message = format!("{} is being rolled back", task.title);
            return Err(
                Error::new(ErrorCode::HeldByAnother, message).hint("wait until the rollback has ended")
            );
        }
    }
    Ok(())
}

pub(super) fn release(work: &mut EventWriter<'_, '_>, task: &Task) -> Result<()> {
    let mut tokens = Vec::new();
    for held in work.tx.locks_of_task(&task.id)? {
        if !tokens.contains(&held.token) {
            tokens.push(held.token);
            grants::release(work, &held, "the rollback has ended")?;
        }
    }
    Ok(())
}

/// Releases the locks of a rollback that did not end.
pub(super) fn let_go(cx: &mut Context, caller: &Caller, task: &Task) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let view = HostView::default();
    release(&mut EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &view }, task)?;
    Ok(tx.commit()?)
}
