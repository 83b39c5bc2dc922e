//! Runs: submitting a document, working it, reading it back.

pub mod accept;
mod aop_submission;
pub mod cancel;
pub mod continue_run;
mod delegation;
pub mod document;
pub mod escalate;
pub mod journal;
pub mod list;
pub mod logs;
mod nested;
pub mod own;
pub mod preview;
pub mod priorities;
pub mod rescue;
pub mod retry;
pub mod show;
pub mod submit;
pub mod task_end;
pub mod task_line;
mod task_message;
mod tasks;
pub mod trace;
pub mod work;

use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::run::{Owner, Run, RunId, RunState, ShownState};
use contract::domain::time::Now;
use store::{Stream, Tx};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::names::ambiguous;
use crate::record::About;

/// What is known about the process that holds a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Dead,
    /// It cannot be seen from here, as in another container. Only its lease tells.
    Unseen,
}

pub(crate) fn required(tx: &Tx<'_>, id: &RunId) -> Result<Run> {
    tx.run(id)?.ok_or_else(|| Error::not_found("run", id.as_str()))
}

/// Whether a living engine works the run, as far as this host can see.
pub fn is_worked(cx: &mut Context, run: &Run) -> bool {
    let (host, now) = (cx.host(), cx.now());
    run.owner.as_ref().is_some_and(|owner| lives(run, &now, host.liveness(owner)))
}

/// The engines that are at work or died during it, as the journal has them.
pub fn engines_at_work(cx: &mut Context) -> Result<Vec<Owner>> {
    Ok(cx.store.read()?.engines_at_work()?)
}

/// The displayed state: a running run without a live engine is interrupted.
pub fn shown_state(cx: &mut Context, run: &Run) -> ShownState {
    let is_worked = run.state != RunState::Running || is_worked(cx, run);
    run.shown_state(is_worked)
}

/// Whether a live engine works the run, by the view of this transaction.
pub(crate) fn is_worked_by_another(run: &Run, now: &Now, view: &HostView) -> Result<bool> {
    match &run.owner {
        Some(owner) => Ok(lives(run, now, view.liveness(owner)?)),
        None => Ok(false),
    }
}

/// A process that cannot be seen from here lives as long as its lease.
fn lives(run: &Run, now: &Now, liveness: Liveness) -> bool {
    match liveness {
        Liveness::Alive => true,
        Liveness::Dead => false,
        Liveness::Unseen => run.owner_lease.as_ref().is_some_and(|lease| lease.is_live(now)),
    }
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

/// A run by its id, a unique prefix of it with or without `run_`, its UUID, or its correlation id.
pub(crate) fn find(tx: &Tx<'_>, text: &str) -> Result<Run> {
    if let Some(id) = Id::from_uuid(text) {
        return tx.run(&id)?.ok_or_else(|| Error::not_found("run", text));
    }
    if let Ok(id) = Id::parse(text)
        && let Some(run) = tx.run(&id)?
    {
        return Ok(run);
    }
    if let Some(run) = tx.run_by_corr(text)? {
        return Ok(run);
    }
    let whole = if text.starts_with("run_") { text.to_owned() } else { format!("run_{text}") };
    let is_prefix = text == "run_" || Id::<contract::domain::id::Run>::parse(&whole).is_ok();
    let ids = if is_prefix { tx.run_ids_with_prefix(&whole, limits::CANDIDATES_MAX)? } else { Vec::new() };
    let unknown = || Error::not_found("run", text).hint("`writ runs list` lists runs");
    match ids.as_slice() {
        [] => Err(unknown()),
        // What all ids have in common names none of them, not even the only one.
        [_] if text == "run_" => Err(unknown()),
        [only] => required(tx, &Id::parse(only).map_err(|_| Error::not_found("run", text))?),
        several => Err(ambiguous("run", text, several)),
    }
}
