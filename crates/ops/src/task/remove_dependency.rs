//! Lets a task no longer wait for another.

use contract::domain::change::Change;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::not_held_by_another;

pub use super::add_dependency::{Answer, Request};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct RemoveDependency;

impl Verb for RemoveDependency {
    const NAME: &'static str = "task.remove_dependency";
    const COMMAND: &'static str = "task remove-dep";
    const SUMMARY: &'static str = "Remove a dependency between two tasks";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(remove);
}

pub fn remove(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    if request.depends_on.is_empty() {
        return Err(Error::required("depends_on"));
    }
    let id = cx.task_id(session, &request.id)?;
    let depends_on = cx.any_task_id(session, &request.depends_on)?;
    cx.once(session, RemoveDependency::NAME, request, |work| {
        let task = super::required(work.tx, &id)?;
        super::outside_runs(&task)?;
        not_held_by_another(&task, &work.caller.agent, work.now)?;
        let message = format!("Dependency removed: {} no longer depends on {depends_on}", task.id);
        // A dependency that is not there needs no event: the task does not depend on it, as was asked.
        let Some(needed) = task.depends_on.iter().find(|id| id.as_str() == depends_on) else {
            return Ok(Answer { message });
        };
        let about = super::about(work.tx, &task)?;
        let removed = Change::DependencyRemoved { task_id: task.id.clone(), depends_on: needed.clone() };
        work.change(&about, &message, &removed)?;
        // A task that is blocked for another reason stays so.
        let waited = task.blocked_reason.as_ref().is_some_and(Reason::is_dependency);
        let waited = waited && task.status == Status::Blocked;
        if waited && work.tx.open_dependencies(&task.id)? == 0 {
            super::unblock(work, &task, "Unblocked: waits for nothing any more")?;
        }
        Ok(Answer { message })
    })
}
