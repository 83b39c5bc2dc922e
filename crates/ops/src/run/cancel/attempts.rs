//! The attempts of a run that is canceled after its engine died.

use contract::domain::attempt::{Attempt, AttemptOutcome, AttemptState, Taken};
use contract::domain::change::Change;
use contract::domain::crew::budget::Spent;
use contract::domain::failure_code::FailureCode;
use contract::domain::report::FinalSignal;
use contract::domain::run::Run;

use crate::error::Result;
use crate::host::Unrecorded;
use crate::lock::list::lost_in;
use crate::record::{About, EventWriter};

/// The reason of an attempt that was open, without a live engine, when its run was canceled.
const CANCELED_LATER: &str = "canceled after its engine had ended";

/// Whether an attempt was ended so. What it left was recorded then, and not by its engine.
pub(crate) fn was_canceled_later(attempt: &Attempt) -> bool {
    attempt.outcome.as_ref().is_some_and(|outcome| outcome.message == CANCELED_LATER)
}

/// Ends the attempts of an engine that died: no attempt of an ended run may look as if it still ran. Its locks
/// stay until their lease ends, because its children may take a moment longer to end than it did.
pub(super) fn end(work: &mut EventWriter<'_, '_>, run: &Run) -> Result<()> {
    let open = work.tx.open_attempts(&run.asked.id)?;
    let left: Vec<Result<Option<Taken>>> = open.iter().map(|attempt| left(work, run, attempt)).collect();
    // All of them are asked for before one that is missing ends the transaction.
    let left: Vec<Option<Taken>> = left.into_iter().collect::<Result<_>>()?;
    crate::run::own::keep_last_signs(work.tx, run, work.now)?;
    for (attempt, snapshot) in open.into_iter().zip(left) {
        let outcome = Box::new(AttemptOutcome {
            code: Some(FailureCode::Unknown.as_str().to_owned()),
            rule: Some("canceled".to_owned()),
            message: CANCELED_LATER.to_owned(),
            final_signal: Some(FinalSignal::Aborted),
            snapshot,
            ..AttemptOutcome::default()
        });
        let state = AttemptState::Interrupted;
        let about = About { task_id: Some(attempt.begun.task_id.clone()), ..crate::run::about(run) };
        let ended = Change::AttemptEnded { attempt_id: attempt.begun.id, state, outcome };
        work.change(&about, &format!("Attempt {}", state.as_str()), &ended)?;
        let task = crate::task::required(work.tx, attempt.begun.task_id.as_str())?;
        let is_model_free = task.part.as_ref().is_some_and(|part| part.spec.is_model_free());
        crate::crew::grants::book(work, &task, Spent::default().or_nothing_if(is_model_free))?;
    }
    Ok(())
}

/// Has it recorded what an attempt left, as the next engine would, so that it can be rolled back. Returns a note if that is
/// not known.
fn left(work: &EventWriter<'_, '_>, run: &Run, attempt: &Attempt) -> Result<Option<Taken>> {
    let task = crate::task::required(work.tx, attempt.begun.task_id.as_str())?;
    let Some(part) = task.part.as_ref().filter(|part| !part.spec.writes.is_empty()) else { return Ok(None) };
    let told = if !work.view.remains(&attempt.begun.owner)?.may_be_swept() {
        Some("what it left was not recorded: processes of its engine may still be at work")
    } else if lost_in(work.tx, &task.id)?.is_some() {
        Some("what it left was not recorded: another task had its locks since")
    } else {
        work.view.left(Unrecorded {
            attempt: attempt.begun.id.clone(),
            task: task.id.clone(),
            run: run.asked.id.clone(),
            name: part.spec.id.clone(),
            workspace: run.asked.workspace.clone(),
            at: work.now.at,
        })?
    };
    Ok(told.map(|told| Taken { notes: vec![told.to_owned()], ..Taken::default() }))
}
