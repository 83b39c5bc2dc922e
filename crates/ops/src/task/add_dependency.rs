//! Makes a task wait for another.

use std::collections::HashMap;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId, not_held_by_another};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Tx;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct AddDependency;

impl Verb for AddDependency {
    const NAME: &'static str = "task.add_dependency";
    const COMMAND: &'static str = "task add-dep";
    const SUMMARY: &'static str = "Make a task depend on another";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(add);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
    pub depends_on: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub message: String,
}

pub fn add(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let id = cx.task_id(session, &request.id)?;
    let depends_on = cx.task_id(session, &request.depends_on).map_err(no_dependency)?;
    if id == depends_on {
        return Err(Error::new(ErrorCode::InvalidInput, "task cannot depend on itself"));
    }
    cx.once(session, AddDependency::NAME, request, |work| {
        let task = super::required(work.tx, &id)?;
        let needed = super::required(work.tx, &depends_on).map_err(no_dependency)?;
        super::outside_runs(&task)?;
        not_held_by_another(&task, &work.caller.agent, work.now)?;
        let message = format!("Dependency added: {} depends on {}", task.id, needed.id);
        if task.depends_on.contains(&needed.id) {
            return Ok(Answer { message });
        }
        bounded(work.tx, &task, &needed)?;
        if let Some(path) = path_between(work.tx, &needed.id, &task.id)? {
            return Err(cycle(&task.id, &path));
        }
        let about = super::about(work.tx, &task)?;
        let added = Change::DependencyAdded { task_id: task.id.clone(), depends_on: needed.id.clone() };
        work.change(&about, &message, &added)?;
        let waits = needed.status != Status::Done;
        if waits && matches!(task.status, Status::Todo | Status::InProgress) {
            let blocked = Change::TaskMoved {
                task_id: task.id.clone(),
                from: task.status,
                to: Status::Blocked,
                evidence: None,
                reason: Some(Reason::dependency()),
            };
            let message = format!("Status changed to: blocked (waits for {})", needed.title);
            work.change(&about, &message, &blocked)?;
        }
        Ok(Answer { message })
    })
}

/// The agent contract's sentence for a dependency that does not exist.
fn no_dependency(mut error: Error) -> Error {
    match error.code {
        ErrorCode::NotFound => error.message = format!("dependency {}", error.message),
        ErrorCode::InvalidInput if error.field == Some("id") => return Error::required("depends_on"),
        _ => {}
    }
    error
}

fn bounded(tx: &Tx<'_>, task: &Task, needed: &Task) -> Result<()> {
    let most = limits::DEPENDENCIES_MAX;
    if task.depends_on.len() >= most || tx.dependents(&needed.id, most)?.len() >= most {
        let message = format!("a task has at most {most} dependencies and as many dependents");
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    Ok(())
}

fn cycle(task: &TaskId, path: &[TaskId]) -> Error {
    let names: Vec<&str> = std::iter::once(task).chain(path).map(TaskId::as_str).collect();
    let message = format!("dependency cycle detected: {}", names.join(" -> "));
    Error::new(ErrorCode::WrongState, message).details(json!({"cycle": names}))
}

/// The tasks on the way from one to another along dependencies, both included, however long it is.
fn path_between(tx: &Tx<'_>, from: &TaskId, to: &TaskId) -> Result<Option<Vec<TaskId>>> {
    let mut reached_from: HashMap<TaskId, Option<TaskId>> = HashMap::from([(from.clone(), None)]);
    let mut next = vec![from.clone()];
    while let Some(task) = next.pop() {
        if task == *to {
            let mut path = vec![task];
            while let Some(Some(before)) = path.last().and_then(|last| reached_from.get(last)) {
                path.push(before.clone());
            }
            path.reverse();
            return Ok(Some(path));
        }
        for needed in tx.dependencies(&task)? {
            if !reached_from.contains_key(&needed) {
                reached_from.insert(needed.clone(), Some(task.clone()));
                next.push(needed);
            }
        }
    }
    Ok(None)
}
