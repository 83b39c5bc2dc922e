//! How a session stands: by what has ended, and whether all of it has.

use contract::aop::event::SessionStatus;
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::text::counted;

/// How a session is called in one word.
pub(super) fn word(status: &SessionStatus) -> &'static str {
    if status.state == ReportedState::InProgress {
        status.state.as_str()
    } else {
        status.final_signal.as_str()
    }
}

pub(super) fn status(all: usize, ended: &[FinalSignal]) -> SessionStatus {
    let open = all - ended.len();
    let status = SessionStatus::of(ended);
    if open == 0 {
        return status;
    }
    // What has not ended has not succeeded.
    let final_signal = match status.final_signal {
        FinalSignal::Success if ended.is_empty() => FinalSignal::Failure,
        FinalSignal::Success => FinalSignal::PartialSuccess,
        other => other,
    };
    let message = Some(format!("not ended: {}", counted(open, "TASK")));
    SessionStatus { state: ReportedState::InProgress, final_signal, message, ..status }
}
