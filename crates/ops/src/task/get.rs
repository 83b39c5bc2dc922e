//! Reads one task.

use contract::continuity::TaskView;
use contract::domain::attempt::Attempt;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Get;

impl Verb for Get {
    const NAME: &'static str = "task.get";
    const COMMAND: &'static str = "task get";
    const SUMMARY: &'static str = "Show a task";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = TaskView;
    const FUNCTION: Function<Self> = Function::Reads(show);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task's id, a unique prefix of it, its id in a plan, or its `T-n`.
    pub id: String,
}

fn show(cx: &mut Context, session: &Session, request: &Request) -> Result<TaskView> {
    let task = get(cx, session, &request.id).map_err(not_found)?;
    let checks_seen = super::checks_seen(&cx.store.read()?, &task)?;
    let last = attempts(cx, &task.id)?.pop().and_then(|last| last.outcome);
    let report = last.and_then(|outcome| outcome.report);
    Ok(TaskView { checks_seen, report, ..TaskView::from(&task) })
}

/// The task with this name.
pub fn get(cx: &mut Context, session: &Session, name: &str) -> Result<Task> {
    let id = cx.task_id(session, name)?;
    by_id(cx, &id)
}

/// The task with this id.
pub fn by_id(cx: &mut Context, id: &str) -> Result<Task> {
    super::required(&cx.store.read()?, id)
}

/// The agent contract's sentence for a task that does not exist.
pub(crate) fn not_found(mut error: Error) -> Error {
    if error.code == ErrorCode::NotFound {
        error.message = format!("failed to get task: {}", error.message);
    }
    error
}

/// What a task still waits for, at most as many as an error lists.
pub fn open_dependencies(cx: &mut Context, task: &TaskView) -> Result<Vec<TaskView>> {
    let tx = cx.store.read()?;
    let mut needed = Vec::new();
    for id in &task.depends_on {
        let task = super::required(&tx, id)?;
        if task.status != Status::Done && needed.len() < limits::CANDIDATES_MAX {
            needed.push(TaskView::from(&task));
        }
    }
    Ok(needed)
}

/// A task's attempts, oldest first.
pub fn attempts(cx: &mut Context, id: &TaskId) -> Result<Vec<Attempt>> {
    Ok(cx.store.read()?.attempts_of_task(id)?)
}
