//! Closes a task: done or blocked, with a summary.

use contract::continuity::TaskView;
use contract::continuity::state::CloseOutcome;
use contract::domain::attempt::AttemptId;
use contract::domain::code::ErrorCode;
use contract::domain::event_kind::TASK_REPORTED;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, TaskId, TransitionRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::checking::{self, CheckResults};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{EventBody, EventWriter};
use crate::verb::{Function, Surface, Verb};

pub struct Complete;

impl Verb for Complete {
    const NAME: &'static str = "task.complete";
    const COMMAND: &'static str = "task complete";
    const SUMMARY: &'static str = "Close a task as done or blocked; done only after its checks passed";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(complete);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: String,
    pub outcome: CloseOutcome,
    /// What was done, or what is in the way.
    pub summary: String,
    /// A word to find the event by.
    #[serde(default)]
    pub label: Option<String>,
    /// Why it is blocked; the summary where it is absent.
    #[serde(default)]
    pub blocked_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task: TaskView,
    pub status_event_id: i64,
    pub close_event_id: i64,
}

pub fn complete(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let to = checked(request)?;
    let id = cx.task_id(session, &request.id)?;
    if let Some(attempt) = super::calling_attempt(cx, session, &id)? {
        return report(cx, session, request, (&id, &attempt));
    }
    let proof = super::checks_before(cx, session, &id, to)?;
    commit(cx, session, request, (&id, &proof))
}

/// The same without a report of done: `None` for a task without checks.
pub fn complete_if_checked(
    cx: &mut Context,
    session: &Session,
    request: &Request,
) -> Result<Option<Reply<Answer>>> {
    if cx.was_answered(session)? {
        return complete(cx, session, request).map(Some);
    }
    let id = cx.task_id(session, &request.id)?;
    let task = super::judged(cx, session, &id)?;
    if checking::plan_for(cx, &task)?.is_none() {
        return Ok(None);
    }
    complete(cx, session, request).map(Some)
}

fn checked(request: &Request) -> Result<Status> {
    if request.summary.trim().is_empty() {
        return Err(Error::required("summary"));
    }
    super::bounded("the summary", &request.summary)?;
    super::bounded("the label", request.label.as_deref().unwrap_or_default())?;
    Ok(request.outcome.status())
}

/// Writes down what the program of a running attempt reports. While it runs it could still change what checks have
/// seen, so its run decides when it has ended.
fn report(
    cx: &mut Context,
    session: &Session,
    request: &Request,
    (id, attempt): (&str, &AttemptId),
) -> Result<Reply<Answer>> {
    cx.once(session, Complete::NAME, request, |work| {
        let task = super::required(work.tx, id)?;
        let about = super::about(work.tx, &task)?;
        let reason = request.blocked_reason.as_deref().unwrap_or(&request.summary);
        let payload = json!({"outcome": request.outcome.as_str(), "summary": request.summary,
                             "label": request.label, "reason": reason, "attempt_id": attempt});
        let message = format!("Reported as {}: {}", request.outcome.as_str(), request.summary);
        let event = work.say(&about, EventBody::event(TASK_REPORTED, message, payload))?;
        Ok(Answer { task: TaskView::from(&task), status_event_id: event, close_event_id: event })
    })
}

/// What a task's program reported as its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedOutcome {
    pub outcome: CloseOutcome,
    pub summary: String,
    /// Why it is blocked.
    pub reason: String,
}

/// What the program of an attempt has reported; its last report counts.
pub fn reported(cx: &mut Context, task: &TaskId, attempt: &AttemptId) -> Result<Option<ReportedOutcome>> {
    let Some(said) = super::last_of(&cx.store.read()?, task, &[TASK_REPORTED])? else { return Ok(None) };
    let text = |field: &str| said.record.payload[field].as_str().unwrap_or_default().to_owned();
    if text("attempt_id") != attempt.as_str() {
        return Ok(None);
    }
    let outcome = CloseOutcome::parse(&text("outcome"));
    Ok(outcome.map(|outcome| ReportedOutcome { outcome, summary: text("summary"), reason: text("reason") }))
}

/// Closes the task `id`, after its checks were run.
fn commit(
    cx: &mut Context,
    session: &Session,
    request: &Request,
    (id, proof): (&str, &CheckResults),
) -> Result<Reply<Answer>> {
    let to = request.outcome.status();
    let reason = super::task_reason(request.blocked_reason.as_deref().or(Some(&request.summary)))?;
    cx.once(session, Complete::NAME, request, |work| {
        let mut task = super::required(work.tx, id)?;
        super::open_to_agents(work.tx, &task)?;
        let command = Command::Move {
            to,
            reason: reason.filter(|_| to == Status::Blocked),
            rules: TransitionRules::Continuity,
            verified: proof.proves(work.tx, &task)?,
            withheld: proof.withheld.clone().map(Reason::from),
            by: Some(work.caller.agent.clone()),
            author: proof.by.clone(),
        };
        let message = format!("Status changed to: {}", to.continuity());
        let made = super::carry_out(work, &mut task, &command, &message)?;
        let status_event_id = made
            .last()
            .map(|(number, _)| *number)
            .ok_or_else(|| Error::new(ErrorCode::Bug, "a move was decided without a change"))?;
        super::note_evidence(work, &task, &proof.seen)?;
        let outcome = request.outcome.as_str();
        let close_event_id =
            say_closed(work, &task, outcome, Some(&request.summary), request.label.as_deref())?;
        Ok(Answer { task: TaskView::from(&task), status_event_id, close_event_id })
    })
}

/// Writes the event that a task was closed, with its summary.
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
