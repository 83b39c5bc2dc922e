//! Moves a task forward or back in the queue.

use contract::continuity::TaskView;
use contract::domain::change::Change;
use contract::domain::task::{apply, not_held_by_another};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct SetPriority;

impl Verb for SetPriority {
    const NAME: &'static str = "task.set_priority";
    const COMMAND: &'static str = "task set-priority";
    const SUMMARY: &'static str = "Change a task's priority";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(set_priority);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
    /// Higher goes first.
    pub priority: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task: TaskView,
    pub event_id: i64,
}

pub fn set_priority(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let id = cx.task_id(session, &request.id).map_err(super::get::not_found)?;
    cx.once(session, SetPriority::NAME, request, |work| {
        let mut task = super::required(work.tx, &id).map_err(super::get::not_found)?;
        super::outside_runs(&task)?;
        not_held_by_another(&task, &work.caller.agent, work.now)?;
        let changed = Change::TaskPrioritized { task_id: task.id.clone(), priority: request.priority };
        let about = super::about(work.tx, &task)?;
        let message = format!("Priority changed from {} to {}", task.priority, request.priority);
        let event_id = work.change(&about, &message, &changed)?;
        apply(&mut task, &changed, work.now.at);
        Ok(Answer { task: TaskView::from(&task), event_id })
    })
}
