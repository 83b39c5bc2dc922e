//! Cancels a run or a task.

mod delegated;
mod end;

use contract::aop::Code;
use contract::aop::response::FinalSignal;
use contract::domain::attempt::{Attempt, AttemptState, Outcome, Taken};
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::budget::Spent;
use contract::domain::run::{Run, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Command, Rules, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::host::Unrecorded;
use crate::lock::list::lost_in;
use crate::names::is_run;
use crate::once::Reply;
use crate::record::{About, EventWriter};
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub(crate) use delegated::with_children_except;
pub use delegated::{delegated, reason_of};

/// Cancels a run.
pub struct CancelRun;

impl Verb for CancelRun {
    const NAME: &'static str = "run.cancel";
    const COMMAND: &'static str = "cancel";
    const SUMMARY: &'static str = "Cancel a run: no task starts any more, and running ones are stopped";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(cancel_run);
}

/// Cancels a task. It shares its command with [`CancelRun`]: the id decides.
pub struct CancelTask;

impl Verb for CancelTask {
    const NAME: &'static str = "task.cancel";
    const COMMAND: &'static str = "cancel";
    const SUMMARY: &'static str = "Cancel a task";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(cancel_task);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run or the task: an id, a unique prefix of it, `@last`, a task's id in a plan, or its `T-n`.
    pub id: String,
    /// Why, for the log.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub id: String,
    /// `canceled`, or `canceling` while a living engine stops its children.
    pub state: String,
}

/// Whether a name is that of a task; any other name is taken for a run's. In a repeated request it means what it meant.
pub fn names_task(cx: &mut Context, key: Option<&Key>, name: &str) -> Result<bool> {
    let answered = key.map(|key| cx.answered_verb(key)).transpose()?.flatten();
    if let Some(verb) = answered.filter(|verb| [CancelRun::NAME, CancelTask::NAME].contains(&verb.as_str())) {
        return Ok(verb == CancelTask::NAME);
    }
    if name.starts_with("task_") || is_run(name) {
        return Ok(!is_run(name));
    }
    match cx.task_id(None, name) {
        Ok(_) => Ok(true),
        Err(error) if error.code == ErrorCode::NotFound && error.details.get("elsewhere").is_none() => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Cancels what the name means.
pub fn cancel(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    if names_task(cx, Some(key), &request.id)? {
        cancel_task(cx, key, request)
    } else {
        cancel_run(cx, key, request)
    }
}

/// A run that an engine works is asked to stop; that engine ends the children. A run without one ends here.
fn cancel_run(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let id = cx.run_id_once(key, &request.id)?;
    cx.once_viewing(key, CancelRun::NAME, request, |work| {
        let run = super::find(work.tx, &id)?;
        if run.state.is_terminal() {
            let message = format!("the run {} already", run.state.said());
            return Err(Error::new(ErrorCode::WrongState, message).details(json!({"state": run.state})));
        }
        let state = delegated::with_children(work, &run, reason.as_deref())?;
        Ok(Answer { id: run.asked.id.to_string(), state: state.to_owned() })
    })
}

/// Cancels one run. Says whether it is canceled, or still being canceled by the engine that works it.
fn cancel_one(work: &mut EventWriter<'_, '_>, run: &Run, reason: Option<&str>) -> Result<&'static str> {
    let about = super::about(run);
    let requested =
        Change::RunCancelRequested { run_id: run.asked.id.clone(), reason: reason.map(str::to_owned) };
    work.change(&about, "Cancel requested", &requested)?;
    if super::is_worked_by_another(run, work.now, work.view)? {
        return Ok("canceling");
    }
    let reason = reason.unwrap_or("the run was canceled");
    for task in work.tx.tasks_of_run(&run.asked.id)? {
        if !task.status.is_terminal() {
            move_to_canceled(work, task, reason)?;
        }
    }
    end_attempts(work, run)?;
    let result = Some(end::result(work, run, reason)?);
    let moved =
        Change::RunMoved { run_id: run.asked.id.clone(), from: run.state, to: RunState::Canceled, result };
    work.change(&about, "Run canceled", &moved)?;
    Ok("canceled")
}

/// The task is canceled in the store at once; an engine that runs it sees that and ends its child.
fn cancel_task(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let id = cx.task_id(Some(key), &request.id)?;
    cx.once_viewing(key, CancelTask::NAME, request, |work| {
        let task = crate::task::required(work.tx, &id)?;
        if task.status.is_terminal() {
            let message = format!("the task is {} already", task.status);
            return Err(Error::new(ErrorCode::WrongState, message).details(json!({"status": task.status})));
        }
        let id = task.id.to_string();
        let reason = reason.clone().unwrap_or_else(|| "canceled by request".to_owned());
        delegated::of_task(work, &task, "was canceled")?;
        let run = task.part.as_ref().map(|part| part.run_id.clone());
        move_to_canceled(work, task, &reason)?;
        if let Some(run) = run {
            end::end_stopped(work, &run)?;
        }
        Ok(Answer { id, state: "canceled".to_owned() })
    })
}

/// What is said about an attempt that was open when its run was canceled and nobody worked on it any more.
const CANCELED_LATER: &str = "canceled after its engine had ended";

/// Whether an attempt was ended so. What it left was recorded then, and not by its engine.
pub(crate) fn was_canceled_later(attempt: &Attempt) -> bool {
    attempt.outcome.as_ref().is_some_and(|outcome| outcome.message == CANCELED_LATER)
}

/// Ends the attempts of an engine that died: no attempt of an ended run may look as if it still ran. Its locks
/// stay until their lease ends, because its children may take a moment longer to end than it did.
fn end_attempts(work: &mut EventWriter<'_, '_>, run: &Run) -> Result<()> {
    let open = work.tx.open_attempts(&run.asked.id)?;
    let left: Vec<Result<Option<Taken>>> = open.iter().map(|attempt| left(work, run, attempt)).collect();
    // All of them are asked for before one that is missing ends the transaction.
    let left: Vec<Option<Taken>> = left.into_iter().collect::<Result<_>>()?;
    super::own::keep_last_signs(work.tx, run, work.now)?;
    for (attempt, snapshot) in open.into_iter().zip(left) {
        let outcome = Box::new(Outcome {
            code: Some(Code::Unknown.as_str().to_owned()),
            rule: Some("canceled".to_owned()),
            message: CANCELED_LATER.to_owned(),
            final_signal: Some(FinalSignal::Aborted),
            snapshot,
            ..Outcome::default()
        });
        let state = AttemptState::Interrupted;
        let about = About { task_id: Some(attempt.begun.task_id.clone()), ..super::about(run) };
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

fn move_to_canceled(work: &mut EventWriter<'_, '_>, mut task: Task, reason: &str) -> Result<()> {
    let command = Command::Move {
        to: Status::Canceled,
        reason: Some(reason.to_owned()),
        rules: Rules::Operator,
        verified: false,
        withheld: None,
        by: None,
        author: None,
    };
    crate::task::carry_out(work, &mut task, &command, "Task canceled")?;
    Ok(())
}
