//! How a worker waits for its next assignment, and when it stops waiting.

use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use ops::{Context, Error, Result};

use super::Worker;
use super::turn::{self, Turn};
use crate::child::pause;

/// How often a worker that waits looks for a task.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The next assignment. A worker that repeats waits while others may make a task ready; `None` if nothing will.
pub(super) fn take(worker: &Worker<'_>, cx: &mut Context, number: u32) -> Result<Option<Turn>> {
    let begun = Instant::now();
    loop {
        let refusal = match turn::take(worker, cx, number) {
            Ok(turn) => return Ok(Some(turn)),
            Err(refusal) if worker.repeats() && is_temporary(&refusal) => refusal,
            Err(refusal) => return Err(refusal),
        };
        let ends = is_over(&refusal) || begun.elapsed() >= worker.args.wait;
        if ends || worker.stop.raised().is_some() {
            return Ok(None);
        }
        pause(LOOK_AGAIN, &worker.stop);
    }
}

/// Whether a task may become ready later.
fn is_temporary(refusal: &Error) -> bool {
    matches!(refusal.code, ErrorCode::DependencyNotMet | ErrorCode::LockConflict)
}

/// Whether no task becomes ready unless somebody changes the ledger: none is in progress or to be retried.
fn is_over(refusal: &Error) -> bool {
    let details = &refusal.details["details"];
    let count = |name: &str| details[name].as_u64().unwrap_or(0);
    details["rule"] == "nothing_ready" && count("in_progress") == 0 && count("retried_later") == 0
}
