//! One engine holds a run at a time. Ownership is a row with a lease; a dead owner's run can be taken over.

use std::collections::BTreeSet;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::lock;
use contract::domain::limits;
use contract::domain::process::Remains;
use contract::domain::run::{DocumentKind, Owner, Run, RunId, RunState};
use contract::domain::time::{Lease, Now};
use store::Tx;

use crate::context::{Caller, Context};
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::EventWriter;

#[derive(Debug)]
pub enum Owned {
    /// The caller works the run from here on.
    Mine(Box<Run>),
    /// Another engine works it; attach and wait.
    Another(Owner),
    /// The engine that had it is not there, but something of it may be, and holds locks.
    Unsettled(Owner, Remains),
    /// It has ended; its result is the answer.
    Ended(Box<Run>),
}

/// Takes the run unless a living engine has it.
pub fn take(cx: &mut Context, caller: &Caller, run_id: &RunId, owner: &Owner) -> Result<Owned> {
    cx.viewing(|cx, view| take_viewing(cx, (caller, owner), run_id, view))
}

fn take_viewing(
    cx: &mut Context,
    (caller, owner): (&Caller, &Owner),
    run_id: &RunId,
    view: &HostView,
) -> Result<Owned> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let run = super::required(&tx, run_id)?;
    if run.state.is_terminal() {
        return Ok(Owned::Ended(Box::new(run)));
    }
    if run.asked.kind == DocumentKind::Ledger {
        let message = "the run is the ledger of a crew; its tasks are given out with `writ assignment issue`";
        return Err(Error::new(ErrorCode::WrongState, message));
    }
    if let Some(other) = held_by_another(&tx, (&run, owner), &now, view)? {
        return Ok(other);
    }
    if run.owner.as_ref() != Some(owner) {
        keep_last_signs(&tx, &run, &now)?;
    }
    let about = super::about(&run);
    let taken = Change::RunOwned { run_id: run_id.clone(), owner: owner.clone() };
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view };
    work.change(&about, "Run taken by an engine", &taken)?;
    if run.state != RunState::Running {
        let moved =
            Change::RunMoved { run_id: run_id.clone(), from: run.state, to: RunState::Running, result: None };
        work.change(&about, "Run is running", &moved)?;
    }
    let lease = Lease::starting(&now, limits::OWNER_LEASE);
    tx.renew_ownership(run_id, &lease)?;
    // Read again: a cancel request that the last owner did not handle before it died is still there.
    let run = super::required(&tx, run_id)?;
    tx.commit()?;
    Ok(Owned::Mine(Box::new(run)))
}

/// Keeps when the attempts of the engine that had the run were last known to be worked: its lease is about to be replaced,
/// or ends with the run.
pub(super) fn keep_last_signs(tx: &Tx<'_>, run: &Run, now: &Now) -> Result<()> {
    let (Some(before), Some(lease)) = (&run.owner, &run.owner_lease) else { return Ok(()) };
    let renewed_at = lease.renewed_at(now, limits::OWNER_LEASE);
    for attempt in tx.open_attempts(&run.asked.id)? {
        let id = &attempt.begun.id;
        let known_at = tx.heartbeat_of(id)?.unwrap_or(attempt.started_at);
        if attempt.begun.owner == *before {
            tx.heartbeat(id, known_at.max(renewed_at))?;
        }
    }
    Ok(())
}

/// Why the run cannot be taken, if it cannot. The new owner also takes over the locks of its tasks, so nothing of
/// their holders may be left.
fn held_by_another(
    tx: &Tx<'_>,
    (run, owner): (&Run, &Owner),
    now: &Now,
    view: &HostView,
) -> Result<Option<Owned>> {
    let holders: BTreeSet<Owner> =
        tx.active_locks_of_run(&run.asked.id)?.into_iter().filter_map(|lock| lock.holder).collect();
    for holder in holders.iter().filter(|holder| *holder != owner) {
        match view.remains(holder)? {
            Remains::Gone => {}
            Remains::Running | Remains::Stopped => return Ok(Some(Owned::Another(holder.clone()))),
            remains @ (Remains::Left | Remains::Unseen) => {
                // One that cannot be seen may well be at work.
                let is_live = run.owner_lease.as_ref().is_some_and(|lease| lease.is_live(now));
                let is_at_work = is_live && run.owner.as_ref() == Some(holder) && remains == Remains::Unseen;
                return Ok(Some(if is_at_work {
                    Owned::Another(holder.clone())
                } else {
                    Owned::Unsettled(holder.clone(), remains)
                }));
            }
        }
    }
    let Some(holder) = run.owner.as_ref().filter(|holder| *holder != owner && !holders.contains(holder))
    else {
        return Ok(None);
    };
    let is_worked = super::is_worked_by_another(run, now, view)?;
    // Children without locks end too before their tasks can be repeated.
    if !is_worked && run.state == RunState::Running && view.remains(holder)? == Remains::Left {
        return Ok(Some(Owned::Unsettled(holder.clone(), Remains::Left)));
    }
    Ok(is_worked.then(|| Owned::Another(holder.clone())))
}

/// Renews the lease of a run and of the locks that its engine took under these numbers. Refused when another engine
/// has the run. Returns the numbers of lost grants.
pub fn renew(cx: &mut Context, run_id: &RunId, owner: &Owner, tokens: &[i64]) -> Result<Vec<i64>> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    if super::required(&tx, run_id)?.owner.as_ref() != Some(owner) {
        return Err(super::journal::taken(run_id));
    }
    tx.renew_ownership(run_id, &Lease::starting(&now, limits::OWNER_LEASE))?;
    let mut lost = Vec::new();
    for &token in tokens {
        // A lease that expired while the machine slept is renewed as long as no sweep has seen it: until then the
        // lock was respected by everybody.
        if !tx.renew_locks(token, &lock::lease(&now, limits::ENGINE_LOCK_LEASE))? {
            lost.push(token);
        }
    }
    tx.commit()?;
    Ok(lost)
}
