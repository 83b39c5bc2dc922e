//! Closes a task: done or blocked, with a summary.

use contract::continuity::TaskView;
use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::status::Status;
use contract::domain::task::{Command, Rules, Task};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{EventBody, EventWriter};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub id: String,
    /// done or blocked.
    pub outcome: String,
    pub summary: String,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub blocked_reason: Option<String>,
    /// What was seen by whoever ran the task's checks in this process; never taken from a request.
    #[serde(skip)]
    pub seen: Vec<CheckSeen>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub task: TaskView,
    pub status_event_id: i64,
    pub close_event_id: i64,
}

pub fn complete(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let to = match request.outcome.as_str() {
        "done" => Status::Done,
        "blocked" => Status::Blocked,
        other => {
            let message = format!("invalid outcome '{other}': must be done or blocked");
            return Err(Error::new(ErrorCode::InvalidInput, message));
        }
    };
    if request.summary.trim().is_empty() {
        return Err(Error::new(ErrorCode::InvalidInput, "--summary is required"));
    }
    super::bounded("the summary", &request.summary)?;
    super::bounded("the label", request.label.as_deref().unwrap_or_default())?;
    let reason = super::reason(request.blocked_reason.as_deref().or(Some(&request.summary)))?;
    cx.once(key, "task.complete", request, |work| {
        let mut task = super::required(work.tx, &request.id)?;
        super::open_to_agents(work.tx, &task)?;
        let reason = reason.filter(|_| to == Status::Blocked);
        let command = Command::Move {
            to,
            reason,
            rules: Rules::Continuity,
            verified: super::verified(&task, &request.seen),
            by: Some(work.caller.agent.clone()),
        };
        let message = format!("Status changed to: {}", to.continuity());
        let made = super::carry_out(work, &mut task, &command, &message)?;
        let status_event_id = made
            .last()
            .map(|(number, _)| *number)
            .ok_or_else(|| Error::new(ErrorCode::Bug, "a move was decided without a change"))?;
        super::note_evidence(work, &task, &request.seen)?;
        let close_event_id =
            say_closed(work, &task, &request.outcome, Some(&request.summary), request.label.as_deref())?;
        Ok(Answer { task: TaskView::from(&task), status_event_id, close_event_id })
    })
}

/// The event that a task was closed, with what came of it.
pub(crate) fn say_closed(
    work: &mut EventWriter<'_, '_>,
    task: &Task,
    outcome: &str,
    summary: Option<&str>,
    label: Option<&str>,
) -> Result<i64> {
    let about = super::about(work.tx, task)?;
    let payload = json!({"outcome": outcome, "summary": summary, "label": label});
    let message = summary.map_or_else(|| format!("Task closed: {outcome}"), str::to_owned);
    work.say(&about, EventBody::event("task_closed", message, payload))
}
