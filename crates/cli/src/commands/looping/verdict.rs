//! What became of a loop's task when the agent ended, and why.

use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::time::human_duration;
use engine::supervisor::Exit;
use ops::task::complete::{self, complete_if_checked};
use ops::{Context, Error, Result};

use super::Loop;
use super::child::Ending;
use crate::output::say;
use crate::persona::{self, Persona};

/// What became of a task after an attempt.
pub(super) enum Verdict {
    /// It is closed, gone or given back.
    Ended(&'static str),
    /// It is closed without success, and why.
    Blocked(Option<String>),
    /// It is still open, and why.
    Open { status: &'static str, reason: String, may_retry: bool },
}

/// Looks at the task itself: what the program says, and its exit code, prove nothing. Checks of a task that was left
/// open decide.
pub(super) fn judge(
    job: &Loop<'_>,
    cx: &mut Context,
    (id, ending, last): (&str, &Ending, &str),
    step: &str,
) -> Result<Verdict> {
    let task = match ops::task::get::by_id(cx, id) {
        Ok(task) => task,
        Err(error) if error.code == ErrorCode::NotFound => return Ok(Verdict::Ended("gone")),
        Err(error) => return Err(error),
    };
    match (task.status, ending) {
        (Status::Done, _) => return Ok(Verdict::Ended("completed")),
        (Status::Blocked | Status::Failed | Status::Canceled, _) => {
            return Ok(Verdict::Blocked(task.blocked_reason));
        }
        (Status::Todo | Status::InProgress, Ending::Interrupted) => {
            let key = job.key(&format!("{step}_leave"))?;
            ops::agent::leave(cx, &key, &ops::agent::Request::default())?;
            return Ok(Verdict::Ended("interrupted"));
        }
        (
            Status::Todo | Status::InProgress,
            Ending::Exited(_) | Ending::Timeout | Ending::Fault(_) | Ending::NotStarted(_),
        ) => {}
    }
    // The agent's process is gone; the claim names the loop's until the task is judged.
    ops::agent::renew(cx, &job.caller)?;
    let request = complete::Request {
        id: id.to_owned(),
        outcome: CloseOutcome::Done,
        summary: "The agent ended without closing the task; its checks pass".to_owned(),
        label: None,
        blocked_reason: None,
    };
    match complete_if_checked(cx, &job.key(&format!("{step}_check"))?, &request) {
        Ok(Some(_)) => Ok(Verdict::Ended("completed")),
        Ok(None) => Ok(left_open(job, ending, last)),
        // Somebody else took it meanwhile, and it is theirs to close.
        Err(error @ Error { code: ErrorCode::HeldByAnother, .. }) => {
            Ok(Verdict::Blocked(Some(error.message)))
        }
        Err(error) if matches!(error.code, ErrorCode::CheckFailed | ErrorCode::Denied) => {
            let status = if *ending == Ending::Timeout { "timeout" } else { "blocked" };
            let may_retry = error.code == ErrorCode::CheckFailed;
            Ok(Verdict::Open { status, reason: check_reason(&error), may_retry })
        }
        Err(error) => Err(error),
    }
}

/// The check that failed, and the end of what it printed.
fn check_reason(error: &Error) -> String {
    let printed = error.details.get("last_lines").and_then(serde_json::Value::as_str).unwrap_or_default();
    let text = format!("failure:{}\n{printed}", error.message);
    let text = text.trim_end();
    let end = text.floor_char_boundary(limits::EVENT_MESSAGE_BYTES_MAX);
    text[..end].to_owned()
}

fn left_open(job: &Loop<'_>, ending: &Ending, last: &str) -> Verdict {
    let (status, reason) = match ending {
        Ending::Timeout => {
            ("timeout", format!("failure:timed out after {}", human_duration(job.args.task_timeout)))
        }
        Ending::Fault(message) | Ending::NotStarted(message) => {
            say(&format!("{}: {message}\n", job.command.name()));
            ("error", format!("failure:{message}"))
        }
        Ending::Exited(exit) => ("blocked", exited(*exit, last)),
        Ending::Interrupted => ("blocked", exited(Exit::Code(0), last)),
    };
    Verdict::Open { status, reason, may_retry: false }
}

/// In the words of the agent contract, and what else is known.
fn exited(exit: Exit, last: &str) -> String {
    let mut reason = "failure:agent exited without completing".to_owned();
    if persona::current() == Persona::Vybe {
        return reason;
    }
    match exit {
        Exit::Code(0) => {}
        Exit::Code(code) => reason.push_str(&format!(", with exit code {code}")),
        Exit::Signal(signal) => reason.push_str(&format!(", by signal {signal}")),
    }
    if !last.is_empty() {
        reason.push_str(&format!("; its last line: {last}"));
    }
    reason
}
