//! The locks, budget and approval that an attempt needs, and the locks for inspecting what one left behind.

use contract::domain::attempt::{AttemptOutcome, Dispatch, NewAttempt};
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::budget::Spent;
use contract::domain::crew::lock::{LockMode, WantedLock};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{Ended, reference_of};
use contract::domain::limits;
use contract::domain::rollback::Stage;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::task::{Task, TaskId};

use super::JournalEntry;
use crate::crew::Obstacle;
use crate::crew::admission::{AdmissionRequest, admit};
use crate::crew::grants::{self, LockRequest};
use crate::crew::loans;
use crate::error::{Error, Result};
use crate::limit_window;
use crate::record::{About, EventWriter, scrubbed};

/// The parts of the workspace that a task writes, under their real names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wants {
    pub scopes: Vec<Scope>,
    /// Names that differ only in case are one.
    pub fold: bool,
}

/// Why none of the entries is written.
pub(super) enum JournalStop {
    Hindered(Obstacle),
    Fenced,
}

/// Starts an attempt with everything that has to be granted for it.
pub(super) fn start(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    (attempt, dispatch): (&NewAttempt, Option<&Dispatch>),
    wants: &Wants,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let task = crate::task::required(work.tx, attempt.task_id.as_str())?;
    let reference = reference(&task);
    if let Err(obstacle) = limit_window::admit(work, run, attempt)? {
        return Ok(Err(JournalStop::Hindered(obstacle)));
    }
    let share = loans::left(work.tx, &task)?.share();
    let request = AdmissionRequest { locks: lock_request(run, &task, &reference, wants), share };
    let admission = match admit(work, request)? {
        Ok(admission) => admission,
        Err(obstacle) => return Ok(Err(JournalStop::Hindered(obstacle))),
    };
    let about = About { task_id: Some(task.id.clone()), ..crate::run::about(run) };
    let dispatch = dispatch.cloned().map(Box::new);
    let started = Change::AttemptStarted { attempt: attempt.clone(), dispatch };
    work.change(&about, &format!("Attempt {} started", attempt.number), &started)?;
    Ok(Ok(admission.token.filter(|_| !wants.scopes.is_empty())))
}

/// Ends an attempt and releases everything it held. Refused where that was taken back before.
pub(super) fn end(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    entry: &JournalEntry,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let JournalEntry::EndAttempt { task_id, attempt_id, state, outcome, token } = entry else {
        return Ok(Ok(None));
    };
    let task = crate::task::required(work.tx, task_id.as_str())?;
    let held = work.tx.locks_of_task(&task.id)?;
    if token.is_some_and(|token| held.iter().all(|lock| lock.token != token)) {
        return Ok(Err(JournalStop::Fenced));
    }
    let about = About { task_id: Some(task_id.clone()), ..crate::run::about(run) };
    let outcome = scrubbed_outcome(outcome);
    let is_model_free = task.part.as_ref().is_some_and(|part| part.spec.is_model_free());
    let spent = Spent { cost: outcome.known_cost(), tokens: outcome.known_tokens() };
    let spent = spent.or_nothing_if(is_model_free);
    if outcome.limited.is_some()
        && let Some(attempt) = work.tx.attempt(attempt_id)?
    {
        limit_window::remember(work, run, &attempt, &outcome)?;
    }
    let ended =
        Change::AttemptEnded { attempt_id: attempt_id.clone(), state: *state, outcome: Box::new(outcome) };
    work.change(&about, &format!("Attempt {}", state.as_str()), &ended)?;
    grants::let_go(work, &task, Ended::Submitted, spent)?;
    Ok(Ok(None))
}

/// What a rollback did is written in any case; it only begins under the locks of its task.
pub(super) fn roll_back(
    work: &mut EventWriter<'_, '_>,
    entry: &JournalEntry,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let JournalEntry::RollBack { task_id, attempt_id, rollback, files, token } = entry else {
        return Ok(Ok(None));
    };
    let task = crate::task::required(work.tx, task_id.as_str())?;
    let held = work.tx.locks_of_task(&task.id)?;
    let is_held = held.iter().any(|lock| Some(lock.token) == *token);
    if rollback.stage == Stage::Started && !is_held {
        return Ok(Err(JournalStop::Fenced));
    }
    crate::rollback::record(work, &task, attempt_id, (rollback, files))?;
    Ok(Ok(None))
}

/// A merge begins only if its task was not moved meanwhile and still has its locks.
pub(super) fn land(
    work: &mut EventWriter<'_, '_>,
    run: &About,
    entry: &JournalEntry,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let JournalEntry::Land { task_id, from, token, note } = entry else { return Ok(Ok(None)) };
    let task = crate::task::required(work.tx, task_id.as_str())?;
    if task.status != *from || from.is_terminal() {
        let message = format!("the task {} is {}, so its work is not merged", task.id, task.status);
        return Err(Error::new(ErrorCode::WrongState, message));
    }
    let held = work.tx.locks_of_task(&task.id)?;
    if token.is_some_and(|token| held.iter().all(|lock| lock.token != token)) {
        return Ok(Err(JournalStop::Fenced));
    }
    let about = About { task_id: Some(task.id.clone()), ..run.clone() };
    work.say_for(note.from.as_deref(), &about, super::says(note))?;
    Ok(Ok(None))
}

pub(super) fn hold(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task_id: &TaskId,
    wants: &Wants,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let task = crate::task::required(work.tx, task_id.as_str())?;
    let reference = reference(&task);
    let granted = grants::acquire(work, lock_request(run, &task, &reference, wants))?;
    Ok(match granted {
        Ok(grant) => Ok(Some(grant.token)),
        Err(conflict) => Err(JournalStop::Hindered(Obstacle::Lock(Box::new(conflict)))),
    })
}

fn reference(task: &Task) -> TaskRef {
    reference_of(task.part.as_ref().map_or(0, |part| part.number))
}

fn lock_request<'a>(run: &'a Run, task: &'a Task, reference: &'a TaskRef, wants: &Wants) -> LockRequest<'a> {
    let wanted = |scope: &Scope| WantedLock { scope: scope.clone(), mode: LockMode::Exclusive };
    LockRequest {
        run,
        task,
        reference,
        scopes: wants.scopes.iter().map(wanted).collect(),
        timeout: limits::ENGINE_LOCK_LEASE,
        fold: wants.fold,
        // Only the run's owner writes its journal.
        holder: run.owner.as_ref(),
    }
}

/// Every text of it, whatever fields it has: a name that a child chose must not keep its end from being recorded.
fn scrubbed_outcome(outcome: &AttemptOutcome) -> AttemptOutcome {
    let value = serde_json::to_value(outcome).expect("BUG: an outcome has a JSON form");
    match contract::secrets::find_in(&value) {
        None => outcome.clone(),
        Some(_) => serde_json::from_value(scrubbed(value)).expect("BUG: scrubbing keeps the form of a value"),
    }
}
