//! What an engine writes while it works a run: layer records and changes, many in one transaction.

use contract::aee::Type;
use contract::domain::attempt::{AttemptId, AttemptState, NewAttempt, Outcome};
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::budget::Spent;
use contract::domain::crew::lock::Wanted;
use contract::domain::crew::{Ended, reference_of};
use contract::domain::limits;
use contract::domain::run::{Owner, Run, RunId, RunState};
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::{Command, Rules, Task, TaskId};
use contract::domain::time::Timestamp;
use contract::operator::{Mode, TaskId as Reference};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::crew::Hindrance;
use crate::crew::admission::{Wish, admit};
use crate::crew::grants::{self, Asked};
use crate::error::{Error, Result};
use crate::record::{About, Says, Scribe};

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
    /// With the locks, the share of the budget and the approval that go with it, or not at all.
    StartAttempt {
        attempt: NewAttempt,
        wants: Wants,
    },
    /// Gives back what the attempt held.
    EndAttempt {
        task_id: TaskId,
        attempt_id: AttemptId,
        state: AttemptState,
        outcome: Box<Outcome>,
        /// Refused unless the task still holds its locks under this number.
        token: Option<i64>,
    },
    /// Locks for a look at what an attempt left behind. What the task held before is given back.
    Hold {
        task_id: TaskId,
        wants: Wants,
    },
    /// Gives back what a look held.
    LetGo {
        task_id: TaskId,
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

/// The parts of the workspace that a task writes, under their real names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wants {
    pub scopes: Vec<Scope>,
    /// Names that differ only in case are one.
    pub fold: bool,
}

/// What became of the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// All of them. With the number of the grant, where locks were taken.
    All { token: Option<i64> },
    /// None of them: an attempt may not begin yet, or not at all.
    Hindered(Hindrance),
    /// None of them: what the task held was taken back, and may be somebody else's by now.
    Fenced,
}

/// Why one entry keeps all of them from being written.
enum Stop {
    Hindered(Hindrance),
    Fenced,
}

/// Writes all entries or none. Refused when the run is no longer the writer's.
pub fn write(
    cx: &mut Context,
    caller: &Caller,
    run_id: &RunId,
    owner: &Owner,
    entries: &[Entry],
) -> Result<Written> {
    let now = cx.clock.now();
    let tx = cx.store.begin()?;
    let mut run = super::required(&tx, run_id)?;
    if run.owner.as_ref() != Some(owner) {
        return Err(taken(run_id));
    }
    let mut work = Scribe { tx: &tx, now: &now, ids: &mut *cx.ids, caller };
    let mut token = None;
    for entry in entries {
        match write_one(&mut work, &mut run, entry)? {
            Ok(granted) => token = granted.or(token),
            Err(Stop::Hindered(hindrance)) => return Ok(Written::Hindered(hindrance)),
            Err(Stop::Fenced) => return Ok(Written::Fenced),
        }
    }
    tx.commit()?;
    Ok(Written::All { token })
}

/// What an engine is told whose run is no longer its own.
pub fn taken(run_id: &RunId) -> Error {
    Error::new(ErrorCode::VersionConflict, format!("the run {run_id} was taken by another engine"))
}

/// Gives the number of a grant, if there was one.
fn write_one(
    work: &mut Scribe<'_, '_>,
    run: &mut Run,
    entry: &Entry,
) -> Result<std::result::Result<Option<i64>, Stop>> {
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
        Entry::StartAttempt { attempt, wants } => return start(work, run, attempt, wants),
        Entry::EndAttempt { task_id, attempt_id, state, outcome, token } => {
            let task = crate::task::required(work.tx, task_id.as_str())?;
            let held = work.tx.locks_of_task(&task.id)?;
            if token.is_some_and(|token| held.iter().all(|lock| lock.token != token)) {
                return Ok(Err(Stop::Fenced));
            }
            about.task_id = Some(task_id.clone());
            let outcome = scrubbed_outcome(outcome);
            let spent = Spent { cost: outcome.cost, tokens: outcome.tokens };
            let ended = Change::AttemptEnded { attempt_id: attempt_id.clone(), state: *state, outcome };
            work.change(&about, &format!("Attempt {}", state.as_str()), &ended)?;
            grants::let_go(work, &task, Ended::Submitted, spent)?;
        }
        Entry::Hold { task_id, wants } => return hold(work, run, task_id, wants),
        Entry::LetGo { task_id } => {
            let task = crate::task::required(work.tx, task_id.as_str())?;
            grants::let_go(work, &task, Ended::Withdrawn, Spent::default())?;
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
    Ok(Ok(None))
}

/// The attempt, and everything that has to be granted for it.
fn start(
    work: &mut Scribe<'_, '_>,
    run: &Run,
    attempt: &NewAttempt,
    wants: &Wants,
) -> Result<std::result::Result<Option<i64>, Stop>> {
    let task = crate::task::required(work.tx, attempt.task_id.as_str())?;
    let reference = reference(&task);
    let share = task.part.as_ref().and_then(|part| part.spec.budget.share());
    let wish = Wish { asked: asked(run, &task, &reference, wants), share };
    let admitted = match admit(work, wish)? {
        Ok(admitted) => admitted,
        Err(hindrance) => return Ok(Err(Stop::Hindered(hindrance))),
    };
    let about = About { task_id: Some(task.id.clone()), ..super::about(run) };
    let started = Change::AttemptStarted { attempt: attempt.clone() };
    work.change(&about, &format!("Attempt {} started", attempt.number), &started)?;
    Ok(Ok(admitted.token.filter(|_| !wants.scopes.is_empty())))
}

fn hold(
    work: &mut Scribe<'_, '_>,
    run: &Run,
    task_id: &TaskId,
    wants: &Wants,
) -> Result<std::result::Result<Option<i64>, Stop>> {
    let task = crate::task::required(work.tx, task_id.as_str())?;
    let reference = reference(&task);
    let granted = grants::acquire(work, asked(run, &task, &reference, wants))?;
    Ok(match granted {
        Ok(grant) => Ok(Some(grant.token)),
        Err(obstacle) => Err(Stop::Hindered(Hindrance::Lock(Box::new(obstacle)))),
    })
}

fn reference(task: &Task) -> Reference {
    reference_of(task.part.as_ref().map_or(0, |part| part.number))
}

fn asked<'a>(run: &'a Run, task: &'a Task, reference: &'a Reference, wants: &Wants) -> Asked<'a> {
    let wanted = |scope: &Scope| Wanted { scope: scope.clone(), mode: Mode::Exclusive };
    Asked {
        run,
        task,
        reference,
        scopes: wants.scopes.iter().map(wanted).collect(),
        timeout: limits::ENGINE_LOCK_LEASE,
        fold: wants.fold,
    }
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
