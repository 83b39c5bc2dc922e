//! Moves a task to another state. The agent contract allows any move, but `completed` needs the task's checks to pass.

use contract::continuity::TaskView;
use contract::continuity::state::TaskState;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::reason::Reason;
use contract::domain::task::{Command, TransitionRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct SetStatus;

impl Verb for SetStatus {
    const NAME: &'static str = "task.set_status";
    const COMMAND: &'static str = "task set-status";
    const SUMMARY: &'static str = "Move a task to another state; completed only after its checks passed";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(set_status);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
    pub status: TaskState,
    /// Why it is blocked.
    #[serde(default)]
    pub blocked_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task: TaskView,
    pub event_id: i64,
}

pub fn set_status(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let to = request.status.status();
    let reason = super::task_reason(request.blocked_reason.as_deref())?;
    let id = cx.task_id(session, &request.id).map_err(super::get::not_found)?;
    super::refuse_own_move(cx, session, &id)?;
    let checked = super::checks_before(cx, session, &id, to).map_err(super::get::not_found)?;
    cx.once(session, SetStatus::NAME, request, |work| {
        let mut task = super::required(work.tx, &id).map_err(super::get::not_found)?;
        super::open_to_agents(work.tx, &task)?;
        let command = Command::Move {
            to,
            reason,
            rules: TransitionRules::Continuity,
            verified: checked.proves(work.tx, &task)?,
            withheld: checked.withheld.clone().map(Reason::from),
            by: Some(work.caller.agent.clone()),
            author: checked.by.clone(),
        };
        let message = format!("Status changed to: {}", request.status.as_str());
        let made = super::carry_out(work, &mut task, &command, &message)?;
        let event_id = made
            .iter()
            .find(|(_, change)| matches!(change, Change::TaskMoved { .. }))
            .map(|(number, _)| *number)
            .ok_or_else(|| Error::new(ErrorCode::Bug, "a move was decided without a change"))?;
        super::note_evidence(work, &task, &checked.seen)?;
        super::hold_what_was_started(work, &mut task)?;
        Ok(Answer { task: TaskView::from(&task), event_id })
    })
}
