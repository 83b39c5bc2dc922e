//! A command: exit 0 is its claim of success, anything else a failure.

use std::time::Duration;

use contract::domain::time::human_duration;

use super::{Ended, Stopped};
use crate::pipeline::l7_delegate::Claim;

pub(crate) fn claim(ended: &Ended, timeout: Duration) -> Claim {
    match own_failure(ended, timeout) {
        Some(failure) => failure,
        None => match (ended.exit_code, ended.signal) {
            (Some(0), _) => Claim::Success,
            (Some(code), _) => failure("E_PROCESS_CRASH", format!("exit code {code}")),
            (None, Some(signal)) => failure("E_PROCESS_CRASH", format!("ended by signal {signal}")),
            (None, None) => failure("E_PROCESS_CRASH", "ended without an exit code".to_owned()),
        },
    }
}

/// Failures that no executor can talk its way out of.
pub(crate) fn own_failure(ended: &Ended, timeout: Duration) -> Option<Claim> {
    if let Some(fault) = &ended.fault {
        return Some(failure("E_PROCESS_CRASH", fault.clone()));
    }
    if ended.survivors > 0 {
        let message = format!("{} processes could not be ended", ended.survivors);
        return Some(failure("E_PROCESS_CRASH", message));
    }
    match ended.stopped? {
        Stopped::Timeout => {
            Some(failure("E_TIMEOUT", format!("took longer than {}", human_duration(timeout))))
        }
        Stopped::Silence => Some(failure("E_HEARTBEAT_FAILURE", "sent no sign of life".to_owned())),
        Stopped::Canceled => Some(failure("E_ABORTED", "canceled".to_owned())),
        Stopped::Interrupted => Some(failure("E_ABORTED", "interrupted".to_owned())),
        Stopped::Fenced => Some(failure("E_ABORTED", "its locks were taken back".to_owned())),
    }
}

pub(crate) fn failure(code: &str, message: String) -> Claim {
    Claim::Failure { code: code.to_owned(), message }
}
