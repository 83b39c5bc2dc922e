//! Sessions that a failed TASK aborted: its other runs are canceled, and no further TASK is taken.

use contract::aop::Code;
use contract::aop::task::OnFailure;
use contract::domain::attempt::AttemptState;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::run::{Run, RunId};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use store::Tx;

use crate::aop_event::task_id_of;
use crate::context::{Caller, Context};
use crate::error::{Error, Result};
use crate::record::EventWriter;
use crate::run::cancel::with_children;

/// Cancels the other runs of a session that were there when one of its TASKs failed at `at`. Gives their ids.
pub fn end_others(
    cx: &mut Context,
    caller: &Caller,
    run: &Run,
    (at, reason): (Timestamp, &str),
) -> Result<Vec<RunId>> {
    let Some(session_id) = run.asked.session_id.clone() else { return Ok(Vec::new()) };
    let others = |tx: &Tx<'_>| -> Result<Vec<Run>> {
        let mut runs = tx.runs_of_session(&session_id, limits::SESSION_RUNS_MAX)?;
        // A run that somebody submitted later was submitted although the session had been aborted.
        runs.retain(|other| {
            let is_other = other.asked.id != run.asked.id && other.created_at <= at;
            is_other && !other.state.is_terminal() && !other.cancel_requested
        });
        Ok(runs)
    };
    if others(&cx.store.read()?)?.is_empty() {
        return Ok(Vec::new());
    }
    let reason = contract::secrets::scrub(reason).into_owned();
    cx.viewing(|cx, view| {
        let tx = cx.store.begin()?;
        let now = cx.clock.now();
        let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view };
        let mut ended = Vec::new();
        for other in others(&tx)? {
            // One that another of them started may have ended with it.
            let other = crate::run::required(&tx, &other.asked.id)?;
            if !other.state.is_terminal() {
                with_children(&mut work, &other, Some(&reason))?;
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
    Err(Error::aop(ErrorCode::WrongState, Code::DependencyFailed, &message)
        .hint("`writ run --reopen` submits TASKs to it all the same"))
}

/// The TASK whose failure aborted the session, by the newest work on each of its TASKs.
fn aborted_by(tx: &Tx<'_>, session_id: &str) -> Result<Option<String>> {
    let mut seen: Vec<String> = Vec::new();
    for run in tx.runs_of_session(session_id, limits::SESSION_RUNS_MAX)? {
        for task in tx.tasks_of_run(&run.asked.id)? {
            let Some(part) = &task.part else { continue };
            let name = task_id_of(part);
            if seen.contains(&name) {
                continue;
            }
            if part.spec.policy.on_failure == OnFailure::AbortSession && has_failed(tx, &task)? {
                return Ok(Some(name));
            }
            seen.push(name);
        }
    }
    Ok(None)
}

/// Whether a task has finally failed. One that a critical error aborted has, too.
fn has_failed(tx: &Tx<'_>, task: &Task) -> Result<bool> {
    Ok(match task.status {
        Status::Failed => true,
        Status::Canceled => {
            tx.attempts_of_task(&task.id)?.last().is_some_and(|last| last.state == AttemptState::Failed)
        }
        Status::Todo | Status::InProgress | Status::Blocked | Status::Done => false,
    })
}
