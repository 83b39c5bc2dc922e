//! How a task ended, in the words of AOP: derived from its status, its reason and its attempts.

use contract::aop::Code;
use contract::domain::attempt::{Attempt, AttemptState, Outcome};
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::status::Status;
use contract::domain::task::Task;

/// How the reasons of tasks begin whose run was refused.
pub const RUN_REFUSED: &str = "the run was refused: ";

/// The AOP code of a task that is not done: the one it was given up, refused or skipped with, or else that of its last attempt.
pub fn code(task: &Task, attempts: &[Attempt]) -> Option<String> {
    if task.status == Status::Done {
        return None;
    }
    let of_task = || given_code(task, attempts).map(|code| code.as_str().to_owned());
    of_task().or_else(|| last_outcome(attempts)?.code.clone())
}

/// The state of a task.
pub(crate) fn state(task: &Task, attempts: &[Attempt]) -> ReportedState {
    match task.status {
        Status::Todo | Status::Blocked => ReportedState::Pending,
        Status::InProgress => ReportedState::InProgress,
        Status::Done => ReportedState::Completed,
        Status::Failed if has_signal(attempts, FinalSignal::Aborted) => ReportedState::Aborted,
        Status::Failed => ReportedState::Failed,
        Status::Canceled if is_skipped(task, attempts) => ReportedState::Skipped,
        Status::Canceled => ReportedState::Aborted,
    }
}

/// How it ended; `None` while it has not.
pub(crate) fn signal(task: &Task, attempts: &[Attempt]) -> Option<FinalSignal> {
    match task.status {
        Status::Todo | Status::Blocked | Status::InProgress => None,
        Status::Done if has_signal(attempts, FinalSignal::PartialSuccess) => {
            Some(FinalSignal::PartialSuccess)
        }
        Status::Done => Some(FinalSignal::Success),
        Status::Failed if has_signal(attempts, FinalSignal::Aborted) => Some(FinalSignal::Aborted),
        Status::Failed => Some(FinalSignal::Failure),
        Status::Canceled => Some(FinalSignal::Aborted),
    }
}

fn last_outcome(attempts: &[Attempt]) -> Option<&Outcome> {
    attempts.last()?.outcome.as_ref()
}

fn has_signal(attempts: &[Attempt], signal: FinalSignal) -> bool {
    last_outcome(attempts).is_some_and(|outcome| outcome.final_signal == Some(signal))
}

/// Whether it never began because another task failed.
fn is_skipped(task: &Task, attempts: &[Attempt]) -> bool {
    attempts.is_empty() && given_code(task, attempts) == Some(Code::DependencyFailed)
}

/// The code that the task's reason begins with.
fn given_code(task: &Task, attempts: &[Attempt]) -> Option<Code> {
    let reason = task.blocked_reason.as_deref()?;
    // What an executor said about its failure may begin like a code.
    let is_quoted = |last: &Attempt| {
        let message = last.outcome.as_ref().map_or("", |outcome| outcome.message.as_str());
        last.state == AttemptState::Failed && !message.is_empty() && reason.starts_with(message)
    };
    if attempts.last().is_some_and(is_quoted) {
        return None;
    }
    let reason = reason.strip_prefix(RUN_REFUSED).unwrap_or(reason);
    Code::parse(reason.split_once(": ")?.0)
}
