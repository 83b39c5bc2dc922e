//! How a task ended, in the words of AOP: derived from its status, its reason and its attempts.

use contract::domain::attempt::{Attempt, AttemptOutcome};
use contract::domain::failure_code::FailureCode;
use contract::domain::reason::Reason;
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::status::Status;
use contract::domain::task::Task;

/// The AOP code of a task that is not done: the one it was given up, refused or skipped with, or else that of its last attempt.
pub fn code(task: &Task, attempts: &[Attempt]) -> Option<String> {
    if task.status == Status::Done {
        return None;
    }
    let of_task = failure_of(task).map(|code| code.as_str().to_owned());
    of_task.or_else(|| last_outcome(attempts)?.code.clone())
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

fn last_outcome(attempts: &[Attempt]) -> Option<&AttemptOutcome> {
    attempts.last()?.outcome.as_ref()
}

fn has_signal(attempts: &[Attempt], signal: FinalSignal) -> bool {
    last_outcome(attempts).is_some_and(|outcome| outcome.final_signal == Some(signal))
}

/// Whether it never began because another task failed.
fn is_skipped(task: &Task, attempts: &[Attempt]) -> bool {
    attempts.is_empty() && failure_of(task) == Some(FailureCode::DependencyFailed)
}

fn failure_of(task: &Task) -> Option<FailureCode> {
    task.blocked_reason.as_ref().and_then(Reason::failure)
}
