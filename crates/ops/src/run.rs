//! Runs: submitting a document, working it, reading it back.

pub mod cancel;
pub mod journal;
pub mod own;
pub mod retry;
pub mod show;
pub mod submit;

use contract::domain::id::Id;
use contract::domain::run::{Owner, Run, RunId};
use contract::domain::time::Now;
use store::{Stream, Tx};

use crate::error::{Error, Result};
use crate::record::About;

/// What is known about the process that holds a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Dead,
    /// It cannot be seen from here, as in another container. Only its lease tells.
    Unseen,
}

/// Whoever can look at processes tells whether an owner lives.
pub type Probe<'p> = &'p dyn Fn(&Owner) -> Liveness;

pub(crate) fn required(tx: &Tx<'_>, id: &RunId) -> Result<Run> {
    tx.run(id)?.ok_or_else(|| Error::not_found("run", id.as_str()))
}

/// Whether a living engine has the run, as far as can be seen from here.
pub fn is_worked(run: &Run, now: &Now, probe: Probe<'_>) -> bool {
    let lease_is_live = run.owner_lease.as_ref().is_some_and(|lease| lease.is_live(now));
    run.owner.as_ref().is_some_and(|owner| match probe(owner) {
        Liveness::Alive => true,
        Liveness::Dead => false,
        Liveness::Unseen => lease_is_live,
    })
}

pub(crate) fn about(run: &Run) -> About {
    About {
        stream: Stream::Run(run.asked.id.clone()),
        corr: run.asked.corr.clone(),
        reply_to: Some(run.asked.origin_id.clone()),
        priority: run.asked.priority(),
        project_id: None,
        task_id: None,
        run_id: Some(run.asked.id.clone()),
    }
}

/// A run by its id, an unambiguous beginning of it, or its correlation.
pub(crate) fn find(tx: &Tx<'_>, text: &str) -> Result<Run> {
    if let Ok(id) = Id::parse(text) {
        if let Some(run) = tx.run(&id)? {
            return Ok(run);
        }
        match tx.run_ids_with_prefix(text)?.as_slice() {
            [] => {}
            [only] => return required(tx, &Id::parse(only).map_err(|_| Error::not_found("run", text))?),
            _ => {
                let message = format!("`{text}` fits more than one run");
                return Err(Error::new(contract::domain::code::ErrorCode::Ambiguous, message)
                    .hint("give more of the id"));
            }
        }
    }
    tx.run_by_corr(text)?.ok_or_else(|| Error::not_found("run", text))
}
