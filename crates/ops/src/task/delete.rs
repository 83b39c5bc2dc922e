//! Deletes a task, and with it what belongs to it. The log keeps what was.

use contract::domain::change::Change;
use contract::domain::task::not_held_by_another;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub task_id: String,
    pub event_id: i64,
}

pub fn delete(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    cx.once(key, "task.delete", request, |work| {
        let task = super::required(work.tx, &request.id)?;
        super::outside_runs(&task)?;
        not_held_by_another(&task, &work.caller.agent, work.now)?;
        let waiting = work.tx.dependents_waiting(&task.id, super::WAITS)?;
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
