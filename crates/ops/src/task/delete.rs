//! Deletes a task, and with it what belongs to it. The log keeps what was.

use contract::domain::change::Change;
use contract::domain::task::not_held_by_another;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Delete;

impl Verb for Delete {
    const NAME: &'static str = "task.delete";
    const COMMAND: &'static str = "task delete";
    const SUMMARY: &'static str = "Delete a task and everything attached to it";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(delete);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task_id: String,
    pub event_id: i64,
}

pub fn delete(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let id = cx.task_id(session, &request.id)?;
    cx.once(session, Delete::NAME, request, |work| {
        let task = super::required(work.tx, &id)?;
        super::outside_runs(&task)?;
        not_held_by_another(&task, &work.caller.agent, work.now)?;
        let waiting = work.tx.dependents_waiting(&task.id)?;
        let about = super::about(work.tx, &task)?;
        let deleted = Change::TaskDeleted { task_id: task.id.clone() };
        let event_id = work.change(&about, &format!("Task deleted: {}", task.title), &deleted)?;
        for dependent in waiting {
            if work.tx.open_dependencies(&dependent.id)? == 0 {
                super::unblock(work, &dependent, &format!("Unblocked: {} was deleted", task.title))?;
            }
        }
        Ok(Answer { task_id: task.id.to_string(), event_id })
    })
}
