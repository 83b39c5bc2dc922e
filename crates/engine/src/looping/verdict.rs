//! What became of a loop's task when the agent ended, and why.

use contract::continuity::reason;
use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::time::human_duration;
use ops::task::complete::{self, complete_if_checked};
use ops::{Context, Error, Result};

use super::LoopSettings;
use crate::launcher::RunError;
use crate::supervisor::ProcessExit;

/// What became of a task after an attempt.
pub(super) enum LoopVerdict {
    /// It is closed, gone or given back.
    Ended(&'static str),
    /// It is closed without success, and why.
    Blocked(Option<String>),
    /// It is still open, and why.
    Open { status: &'static str, reason: String, may_retry: bool },
}

/// The end of one attempt at a task.
pub(super) struct AttemptEnd<'a> {
    pub(super) task_id: &'a str,
    /// The prefix of the request ids of this attempt.
    pub(super) step: &'a str,
    pub(super) end: &'a std::result::Result<ProcessExit, RunError>,
    /// The last line of the program.
    pub(super) last: &'a str,
}

/// The task itself decides: the output and the exit code of the program prove nothing. A task that was left open is
/// done if its checks pass.
pub(super) fn judge(
    settings: &LoopSettings,
    cx: &mut Context,
    attempt: &AttemptEnd<'_>,
) -> Result<LoopVerdict> {
    let task = match ops::task::get::by_id(cx, attempt.task_id) {
        Ok(task) => task,
        Err(error) if error.code == ErrorCode::NotFound => return Ok(LoopVerdict::Ended("gone")),
        Err(error) => return Err(error),
    };
    match task.status {
        Status::Done => return Ok(LoopVerdict::Ended("completed")),
        Status::Blocked | Status::Failed | Status::Canceled => {
            return Ok(LoopVerdict::Blocked(task.blocked_reason.map(|reason| reason.to_string())));
        }
        Status::Todo | Status::InProgress if matches!(attempt.end, Err(RunError::Stopped)) => {
            let key = settings.key(&format!("{}_leave", attempt.step))?;
            ops::agent::leave(cx, &key, &ops::agent::Request::default())?;
            return Ok(LoopVerdict::Ended("interrupted"));
        }
        Status::Todo | Status::InProgress => {}
    }
    // The agent's process is gone; the claim names the loop's until the task is judged.
    ops::agent::renew(cx, &settings.session.caller)?;
    let request = complete::Request {
        id: attempt.task_id.to_owned(),
        outcome: CloseOutcome::Done,
        summary: "The agent ended without closing the task; its checks pass".to_owned(),
        label: None,
        blocked_reason: None,
    };
    match complete_if_checked(cx, &settings.key(&format!("{}_check", attempt.step))?, &request) {
        Ok(Some(_)) => Ok(LoopVerdict::Ended("completed")),
        Ok(None) => Ok(left_open(settings, attempt)),
        // Another agent holds it by now and closes it.
        Err(error @ Error { code: ErrorCode::HeldByAnother, .. }) => {
            Ok(LoopVerdict::Blocked(Some(error.message)))
        }
        Err(error) if matches!(error.code, ErrorCode::CheckFailed | ErrorCode::Denied) => {
            let status = if matches!(attempt.end, Err(RunError::Timeout(_))) { "timeout" } else { "blocked" };
            let may_retry = error.code == ErrorCode::CheckFailed;
            Ok(LoopVerdict::Open { status, reason: check_reason(&error), may_retry })
        }
        Err(error) => Err(error),
    }
}

/// The check that failed, and the end of what it printed.
fn check_reason(error: &Error) -> String {
    let printed = error.details.get("last_lines").and_then(serde_json::Value::as_str).unwrap_or_default();
    let text = reason::failure(&format!("{}\n{printed}", error.message));
    let text = text.trim_end();
    let end = text.floor_char_boundary(limits::EVENT_MESSAGE_BYTES_MAX);
    text[..end].to_owned()
}

fn left_open(settings: &LoopSettings, attempt: &AttemptEnd<'_>) -> LoopVerdict {
    let exited = |exit| exited(exit, attempt.last, settings.command.is_original());
    let (status, reason) = match attempt.end {
        Ok(exit) => ("blocked", exited(*exit)),
        Err(RunError::Stopped) => ("blocked", exited(ProcessExit::Code(0))),
        Err(RunError::Timeout(_)) => (
            "timeout",
            reason::failure(&format!("timed out after {}", human_duration(settings.bounds.task_timeout))),
        ),
        Err(error) => ("error", reason::failure(&fault(error))),
    };
    LoopVerdict::Open { status, reason, may_retry: false }
}

/// A failure of the supervisor in words.
pub(super) fn fault(error: &RunError) -> String {
    match error {
        RunError::NotStarted(fault) => fault.message.clone(),
        RunError::Lost(message) => message.clone(),
        error => error.to_string(),
    }
}

/// In the words of the agent contract, with the exit code and the last line.
fn exited(exit: ProcessExit, last: &str, is_original: bool) -> String {
    let mut reason = reason::failure("agent exited without completing");
    if is_original {
        return reason;
    }
    match exit {
        ProcessExit::Code(0) => {}
        ProcessExit::Code(code) => reason.push_str(&format!(", with exit code {code}")),
        ProcessExit::Signal(signal) => reason.push_str(&format!(", by signal {signal}")),
    }
    if !last.is_empty() {
        reason.push_str(&format!("; its last line: {last}"));
    }
    reason
}
