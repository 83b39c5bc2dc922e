//! Sessions that a failed TASK aborted: its other runs are canceled, and no further TASK is taken.

use contract::domain::attempt::has_failed;
use contract::domain::code::ErrorCode;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::run::{Run, RunId};
use contract::domain::time::Timestamp;
use store::Tx;

use crate::aop_event::task_id_of;
use crate::context::{Caller, Context};
use crate::error::{Error, Result};
use crate::record::EventWriter;
use crate::run::cancel::with_children_except;

/// Cancels the other runs of a session that were there when one of its TASKs failed at `at`. Gives their ids.
pub fn end_others(
    cx: &mut Context,
    caller: &Caller,
    run: &Run,
    (at, reason): (Timestamp, Reason),
) -> Result<Vec<RunId>> {
    let Some(session_id) = run.asked.session_id.clone() else { return Ok(Vec::new()) };
    let others = |tx: &Tx<'_>| -> Result<Vec<Run>> {
        let mut runs = tx.runs_of_session(&session_id, limits::SESSION_RUNS_MAX)?;
        // A later run was submitted on purpose after the abort.
        runs.retain(|other| {
            let is_other = other.asked.id != run.asked.id && other.created_at <= at;
            is_other && !other.state.is_terminal() && !other.cancel_requested
        });
        Ok(runs)
    };
    if others(&cx.store.read()?)?.is_empty() {
        return Ok(Vec::new());
    }
    let reason = reason.map_text(|text| contract::secrets::scrub(text).into_owned());
    cx.viewing(|cx, view| {
        let tx = cx.store.begin()?;
        let now = cx.clock.now();
        let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view };
        let mut ended = Vec::new();
        for other in others(&tx)? {
            // One that another of them started may have ended with it.
            let other = crate::run::required(&tx, &other.asked.id)?;
            if !other.state.is_terminal() {
                // The failed run may be one of its children. It ends by itself, as failed.
                if !other.cancel_requested {
                    with_children_except(&mut work, &other, Some(&reason), Some(&run.asked.id))?;
                }
                ended.push(other.asked.id);
            }
        }
        tx.commit()?;
        Ok(ended)
    })
}

/// Refuses a session of which a TASK with `on_failure` ABORT_SESSION has failed.
pub(crate) fn refuse_aborted(tx: &Tx<'_>, session_id: &str) -> Result<()> {
    let Some(task) = aborted_by(tx, session_id)? else { return Ok(()) };
    let message =
        format!("the session {session_id} was aborted: `{task}` failed, and its on_failure is ABORT_SESSION");
    Err(Error::aop(ErrorCode::WrongState, FailureCode::DependencyFailed, &message)
        .hint("`writ run --reopen` submits TASKs to it anyway"))
}

/// The failed TASK that aborted the session, by the newest work on each of its TASKs.
fn aborted_by(tx: &Tx<'_>, session_id: &str) -> Result<Option<String>> {
    for task in tx.aborting_tasks(session_id)? {
        let last = tx.attempts_of_task(&task.id)?.last().map(|last| last.state);
        if has_failed(task.status, last) {
            return Ok(task.part.as_ref().map(task_id_of));
        }
    }
    Ok(None)
}
