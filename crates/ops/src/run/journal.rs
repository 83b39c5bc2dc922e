//! What an engine writes while it works a run: layer records and changes, many in one transaction.

use contract::aee::Type;
use contract::domain::attempt::{AttemptId, AttemptState, NewAttempt, Outcome};
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::run::{Owner, Run, RunId, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Command, Rules, TaskId};
use contract::domain::time::Timestamp;
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::error::{Error, Result};
use crate::record::{Says, Scribe};

/// One thing to write down.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// An AEE envelope of the run: a layer's decision, a delegation, its result.
    Envelope(Note),
    MoveTask {
        task_id: TaskId,
        to: Status,
        reason: Option<String>,
        verified: bool,
    },
    StartAttempt(NewAttempt),
    EndAttempt {
        task_id: TaskId,
        attempt_id: AttemptId,
        state: AttemptState,
        outcome: Box<Outcome>,
    },
    MoveRun {
        to: RunState,
        result: Option<Value>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    pub kind: Type,
    /// Who speaks, where it is not the engine: an executor whose answer is passed on.
    pub from: Option<String>,
    pub to: String,
    pub intent: String,
    pub message: String,
    pub payload: Value,
    pub task_id: Option<TaskId>,
}

/// Writes all entries or none. Refused when the run is no longer the writer's.
pub fn write(
    cx: &mut Context,
    caller: &Caller,
    run_id: &RunId,
    owner: &Owner,
    entries: &[Entry],
) -> Result<()> {
    let now = cx.clock.now();
    let tx = cx.store.begin()?;
    let mut run = super::required(&tx, run_id)?;
    if run.owner.as_ref() != Some(owner) {
        return Err(taken(run_id));
    }
    let mut work = Scribe { tx: &tx, now: &now, ids: &mut *cx.ids, caller };
    for entry in entries {
        write_one(&mut work, &mut run, entry)?;
    }
    Ok(tx.commit()?)
}

/// What an engine is told whose run is no longer its own.
pub fn taken(run_id: &RunId) -> Error {
    Error::new(ErrorCode::VersionConflict, format!("the run {run_id} was taken by another engine"))
}

fn write_one(work: &mut Scribe<'_, '_>, run: &mut Run, entry: &Entry) -> Result<()> {
    let mut about = super::about(run);
    match entry {
        Entry::Envelope(note) => {
            about.task_id.clone_from(&note.task_id);
            work.say_for(note.from.as_deref(), &about, says(note))?;
        }
        Entry::MoveTask { task_id, to, reason, verified } => {
            let mut task = crate::task::required(work.tx, task_id.as_str())?;
            let reason = reason.as_ref().map(|text| contract::secrets::scrub(text).into_owned());
            let command =
                Command::Move { to: *to, reason, rules: Rules::Operator, verified: *verified, by: None };
            let message = format!("{}: {to}", task.title);
            crate::task::carry_out(work, &mut task, &command, &message)?;
        }
        Entry::StartAttempt(attempt) => {
            about.task_id = Some(attempt.task_id.clone());
            let started = Change::AttemptStarted { attempt: attempt.clone() };
            work.change(&about, &format!("Attempt {} started", attempt.number), &started)?;
        }
        Entry::EndAttempt { task_id, attempt_id, state, outcome } => {
            about.task_id = Some(task_id.clone());
            let outcome = scrubbed_outcome(outcome);
            let ended = Change::AttemptEnded { attempt_id: attempt_id.clone(), state: *state, outcome };
            work.change(&about, &format!("Attempt {}", state.as_str()), &ended)?;
        }
        Entry::MoveRun { to: RunState::Stopped, .. } if run.cancel_requested => {
            // Whoever asked was told that it is being canceled; a stopped run would forget that.
            return Err(Error::new(ErrorCode::WrongState, "the run is being canceled"));
        }
        Entry::MoveRun { to, result } => {
            let result = result.clone().map(crate::record::scrubbed);
            let moved = Change::RunMoved { run_id: run.asked.id.clone(), from: run.state, to: *to, result };
            work.change(&about, &format!("Run {}", to.as_str()), &moved)?;
            run.state = *to;
        }
    }
    Ok(())
}

/// Notes that an attempt is alive.
pub fn heartbeat(cx: &mut Context, attempt: &AttemptId, at: Timestamp) -> Result<()> {
    let tx = cx.store.begin()?;
    tx.heartbeat(attempt, at)?;
    Ok(tx.commit()?)
}

fn says(note: &Note) -> Says {
    Says {
        r#type: note.kind.as_str(),
        to: note.to.clone(),
        intent: note.intent.clone(),
        kind: note.intent.clone(),
        message: note.message.clone(),
        payload: note.payload.clone(),
        requires: None,
    }
}

fn scrubbed_outcome(outcome: &Outcome) -> Outcome {
    let scrub = |text: &str| contract::secrets::scrub(text).into_owned();
    let mut clean = outcome.clone();
    clean.message = scrub(&outcome.message);
    clean.code = outcome.code.as_deref().map(scrub);
    for check in &mut clean.checks {
        check.output_tail = scrub(&check.output_tail);
        check.problem = check.problem.as_deref().map(scrub);
    }
    clean
}
