//! Moves a task forward or back in the queue.

use contract::continuity::TaskView;
use contract::domain::change::Change;
use contract::domain::task::{apply, not_held_by_another};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub id: String,
    /// Higher goes first.
    pub priority: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub task: TaskView,
    pub event_id: i64,
}

pub fn set_priority(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    cx.once(key, "task.set_priority", request, |work| {
        let mut task = super::required(work.tx, &request.id)?;
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
