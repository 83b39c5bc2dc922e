//! Cancels a run or a task.

mod attempts;
mod delegated;
mod end;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::reason::Reason;
use contract::domain::run::{Run, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, TransitionRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::names::is_run;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub(crate) use attempts::was_canceled_later;
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
pub fn names_task(cx: &mut Context, session: &Session, name: &str) -> Result<bool> {
    let answered = cx.answered_verb(session)?;
    if let Some(verb) = answered.filter(|verb| [CancelRun::NAME, CancelTask::NAME].contains(&verb.as_str())) {
        return Ok(verb == CancelTask::NAME);
    }
    if name.starts_with("task_") || is_run(name) {
        return Ok(!is_run(name));
    }
    match cx.task_id(session, name) {
        Ok(_) => Ok(true),
        Err(error) if error.code == ErrorCode::NotFound && error.details.get("elsewhere").is_none() => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Cancels what the name means.
pub fn cancel(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    if names_task(cx, session, &request.id)? {
        cancel_task(cx, session, request)
    } else {
        cancel_run(cx, session, request)
    }
}

/// A run that an engine works is asked to stop; that engine ends the children. A run without one ends here.
fn cancel_run(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::task_reason(request.reason.as_deref())?;
    let id = cx.run_id_once(session, &request.id)?;
    cx.once_viewing(session, CancelRun::NAME, request, |work| {
        let run = super::find(work.tx, &id)?;
        if run.state.is_terminal() {
            let message = format!("the run {} already", run.state.said());
            return Err(Error::new(ErrorCode::WrongState, message).details(json!({"state": run.state})));
        }
        let state = delegated::with_children(work, &run, reason.as_ref())?;
        Ok(Answer { id: run.asked.id.to_string(), state: state.to_owned() })
    })
}

/// Cancels one run. Says whether it is canceled, or still being canceled by the engine that works it.
fn cancel_one(work: &mut EventWriter<'_, '_>, run: &Run, reason: Option<&Reason>) -> Result<&'static str> {
    let about = super::about(run);
    let requested = Change::RunCancelRequested { run_id: run.asked.id.clone(), reason: reason.cloned() };
    work.change(&about, "Cancel requested", &requested)?;
    if super::is_worked_by_another(run, work.now, work.view)? {
        return Ok("canceling");
    }
    let reason = reason.cloned().unwrap_or_else(|| "the run was canceled".into());
    for task in work.tx.tasks_of_run(&run.asked.id)? {
        if !task.status.is_terminal() {
            move_to_canceled(work, task, reason.clone())?;
        }
    }
    attempts::end(work, run)?;
    let result = Some(end::result(work, run, &reason.to_string())?);
    let moved =
        Change::RunMoved { run_id: run.asked.id.clone(), from: run.state, to: RunState::Canceled, result };
    work.change(&about, "Run canceled", &moved)?;
    Ok("canceled")
}

/// The task is canceled in the store at once; an engine that runs it sees that and ends its child.
fn cancel_task(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::task_reason(request.reason.as_deref())?;
    let id = cx.task_id(session, &request.id)?;
    cx.once_viewing(session, CancelTask::NAME, request, |work| {
        let task = crate::task::required(work.tx, &id)?;
        if task.status.is_terminal() {
            let message = format!("the task is {} already", task.status);
            return Err(Error::new(ErrorCode::WrongState, message).details(json!({"status": task.status})));
        }
        let id = task.id.to_string();
        let reason = reason.clone().unwrap_or_else(|| "canceled by request".into());
        delegated::of_task(work, &task, "was canceled")?;
        let run = task.part.as_ref().map(|part| part.run_id.clone());
        move_to_canceled(work, task, reason)?;
        if let Some(run) = run {
            end::end_stopped(work, &run)?;
        }
        Ok(Answer { id, state: "canceled".to_owned() })
    })
}

fn move_to_canceled(work: &mut EventWriter<'_, '_>, mut task: Task, reason: Reason) -> Result<()> {
    let command = Command::Move {
        to: Status::Canceled,
        reason: Some(reason),
        rules: TransitionRules::Operator,
        verified: false,
        withheld: None,
        by: None,
        author: None,
    };
    crate::task::carry_out(work, &mut task, &command, "Task canceled")?;
    Ok(())
}
