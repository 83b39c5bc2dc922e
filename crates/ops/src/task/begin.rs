//! Takes a task and starts it: a claim with a lease, and the agent's focus.

use contract::continuity::TaskView;
use contract::domain::change::Change;
use contract::domain::task::Command;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Begin;

impl Verb for Begin {
    const NAME: &'static str = "task.begin";
    const COMMAND: &'static str = "task begin";
    const SUMMARY: &'static str = "Claim a task and start it";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(begin);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task: TaskView,
    /// Absent when the task was in progress already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_event_id: Option<i64>,
    pub focus_event_id: i64,
}

pub fn begin(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let id = cx.task_id(session, &request.id)?;
    cx.once_viewing(session, Begin::NAME, request, |work| {
        let mut task = super::required(work.tx, &id)?;
        super::open_to_agents(work.tx, &task)?;
        let agent = work.caller.agent.clone();
        crate::resume::orphans::end_claim(work, &mut task)?;
        let token = work.tx.next_number("fencing")?;
        let command = Command::Begin(work.caller.claim(token));
        let made = super::carry_out(work, &mut task, &command, "Status changed to: in_progress")?;
        let status_event_id = made
            .iter()
            .find(|(_, change)| matches!(change, Change::TaskMoved { .. }))
            .map(|(number, _)| *number);
        crate::agent::turn_to(work, Some(&task.id))?;
        let focused = Change::AgentFocused {
            agent: agent.as_str().to_owned(),
            task_id: Some(task.id.clone()),
            project_id: task.project_id.clone(),
        };
        let about = super::about(work.tx, &task)?;
        let focus_event_id = work.change(&about, &crate::agent::focus_message(Some(&task.id)), &focused)?;
        Ok(Answer { task: TaskView::from(&task), status_event_id, focus_event_id })
    })
}
