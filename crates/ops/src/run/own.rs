//! One engine holds a run at a time. Ownership is a row with a lease; a dead owner's run can be taken over.

use contract::domain::change::Change;
use contract::domain::limits;
use contract::domain::run::{Owner, Run, RunId, RunState};
use contract::domain::time::Lease;

use super::{Liveness, Probe};
use crate::context::{Caller, Context};
use crate::error::Result;
use crate::record::Scribe;

#[derive(Debug)]
pub enum Owned {
    /// The caller works the run from here on.
    Mine(Box<Run>),
    /// Another engine works it; attach and wait.
    Another(Owner),
    /// It has ended; its result is the answer.
    Ended(Box<Run>),
}

/// Takes the run unless someone living has it.
pub fn take(
    cx: &mut Context,
    caller: &Caller,
    run_id: &RunId,
    owner: &Owner,
    probe: Probe<'_>,
) -> Result<Owned> {
    let now = cx.clock.now();
    let tx = cx.store.begin()?;
    let mut run = super::required(&tx, run_id)?;
    if run.state.is_terminal() {
        return Ok(Owned::Ended(Box::new(run)));
    }
    if let Some(holder) = run.owner.as_ref().filter(|holder| *holder != owner) {
        let lease_is_live = run.owner_lease.as_ref().is_some_and(|lease| lease.is_live(&now));
        let holds = match probe(holder) {
            Liveness::Alive => true,
            Liveness::Dead => false,
            Liveness::Unseen => lease_is_live,
        };
        if holds {
            return Ok(Owned::Another(holder.clone()));
        }
    }
    let about = super::about(&run);
    let owned = Change::RunOwned { run_id: run_id.clone(), owner: owner.clone() };
    let mut work = Scribe { tx: &tx, now: &now, ids: &mut *cx.ids, caller };
    work.change(&about, "Run taken by an engine", &owned)?;
    if run.state != RunState::Running {
        let moved =
            Change::RunMoved { run_id: run_id.clone(), from: run.state, to: RunState::Running, result: None };
        work.change(&about, "Run is running", &moved)?;
    }
    let lease = Lease::starting(&now, limits::OWNER_LEASE);
    tx.renew_ownership(run_id, &lease)?;
    tx.commit()?;
    run.state = RunState::Running;
    run.owner = Some(owner.clone());
    run.owner_lease = Some(lease);
    run.cancel_requested = false;
    Ok(Owned::Mine(Box::new(run)))
}

/// Keeps the hold on a run.
pub fn renew(cx: &mut Context, run_id: &RunId) -> Result<()> {
    let lease = Lease::starting(&cx.clock.now(), limits::OWNER_LEASE);
    let tx = cx.store.begin()?;
    tx.renew_ownership(run_id, &lease)?;
    Ok(tx.commit()?)
}
