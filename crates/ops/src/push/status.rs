//! The status that a push gives its task. Completed and blocked close it, as `task complete` does.

use contract::continuity::push::PushStatus;
use contract::domain::code::ErrorCode;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, TransitionRules};
use contract::domain::text::quoted;
use serde_json::json;

use super::Moved;
use crate::checking::CheckResults;
use crate::error::{Error, Result};
use crate::record::EventWriter;
use crate::task;
use crate::task::complete::say_closed;

pub(super) struct StatusChange<'p> {
    to: Status,
    reason: Option<Reason>,
    asked: &'p PushStatus,
}

impl<'p> StatusChange<'p> {
    pub(super) fn of(asked: &'p PushStatus) -> Result<Self> {
        let to = Status::from_continuity(&asked.status).ok_or_else(|| {
            Error::new(ErrorCode::InvalidInput, format!("invalid status {}", quoted(&asked.status)))
                .hint("one of pending, in_progress, completed, blocked")
                .details(json!({"path": "$.task_status.status"}))
        })?;
        task::bounded("the summary", asked.summary.as_deref().unwrap_or_default())?;
        task::bounded("the label", asked.label.as_deref().unwrap_or_default())?;
        let given = |text: &'p Option<String>| text.as_deref().filter(|text| !text.trim().is_empty());
        let reason = task::task_reason(given(&asked.blocked_reason).or(given(&asked.summary)))?;
        Ok(Self { to, reason: reason.filter(|_| to == Status::Blocked), asked })
    }

    pub(super) fn to(&self) -> Status {
        self.to
    }

    pub(super) fn carry_out(
        &self,
        work: &mut EventWriter<'_, '_>,
        task: &mut Task,
        proof: &CheckResults,
    ) -> Result<Moved> {
        task::open_to_agents(work.tx, task)?;
        let command = Command::Move {
            to: self.to,
            reason: self.reason.clone(),
            rules: TransitionRules::Continuity,
            verified: proof.proves(work.tx, task)?,
            withheld: proof.withheld.clone().map(Reason::from),
            by: Some(work.caller.agent.clone()),
            author: proof.by.clone(),
        };
        let message = format!("Status changed to: {}", self.asked.status);
        let made = task::carry_out(work, task, &command, &message)?;
        let status_event_id = made
            .last()
            .map(|(number, _)| *number)
            .ok_or_else(|| Error::new(ErrorCode::Bug, "a move was decided without a change"))?;
        task::note_evidence(work, task, &proof.seen)?;
        task::hold_what_was_started(work, task)?;
        Ok(Moved {
            task_id: task.id.to_string(),
            status: self.asked.status.clone(),
            status_event_id,
            close_event_id: self.close(work, task)?,
        })
    }

    fn close(&self, work: &mut EventWriter<'_, '_>, task: &Task) -> Result<Option<i64>> {
        let outcome = match self.to {
            Status::Done => "done",
            Status::Blocked => "blocked",
            Status::Todo | Status::InProgress | Status::Failed | Status::Canceled => return Ok(None),
        };
        let PushStatus { summary, label, .. } = self.asked;
        say_closed(work, task, outcome, summary.as_deref(), label.as_deref()).map(Some)
    }
}
