//! Brings a task into another state, as the agent contract allows: any move, but `completed` is not for the taking.

use contract::continuity::TaskView;
use contract::domain::change::Change;
use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::status::Status;
use contract::domain::task::{Command, Rules};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub id: String,
    /// `pending`, `in_progress`, `completed` or `blocked`.
    pub status: String,
    #[serde(default)]
    pub blocked_reason: Option<String>,
    /// What was seen by whoever ran the task's checks in this process; never taken from a request.
    #[serde(skip)]
    pub seen: Vec<CheckSeen>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub task: TaskView,
    pub event_id: i64,
}

/// The state that a word of the agent contract names.
pub fn named(word: &str) -> Result<Status> {
    Status::from_continuity(word).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("invalid status '{word}'"))
            .hint("one of pending, in_progress, completed, blocked")
    })
}

pub fn set_status(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let to = named(&request.status)?;
    let reason = super::reason(request.blocked_reason.as_deref())?;
    cx.once(key, "task.set_status", request, |work| {
        let mut task = super::required(work.tx, &request.id)?;
        super::open_to_agents(work.tx, &task)?;
        let command = Command::Move {
            to,
            reason,
            rules: Rules::Continuity,
            verified: super::verified(&task, &request.seen),
            by: Some(work.caller.agent.clone()),
        };
        let message = format!("Status changed to: {}", request.status);
        let made = super::carry_out(work, &mut task, &command, &message)?;
        let event_id = made
            .iter()
            .find(|(_, change)| matches!(change, Change::TaskMoved { .. }))
            .map(|(number, _)| *number)
            .ok_or_else(|| Error::new(ErrorCode::Bug, "a move was decided without a change"))?;
        super::note_evidence(work, &task, &request.seen)?;
        super::hold_what_was_started(work, &mut task)?;
        Ok(Answer { task: TaskView::from(&task), event_id })
    })
}
