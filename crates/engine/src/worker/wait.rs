//! How a worker waits for its next assignment, and when it stops waiting.

use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use ops::{Context, Error, Result};

use super::WorkerSettings;
use super::turn::{self, WorkerTurn};

/// How often a worker that waits looks for a task.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The next assignment. A worker that repeats waits while others may make a task ready; `None` if nothing will.
pub(super) fn take(worker: &WorkerSettings, cx: &mut Context, number: u32) -> Result<Option<WorkerTurn>> {
    let Some(wait) = worker.bounds.wait else { return turn::take(worker, cx, number).map(Some) };
    let begun = Instant::now();
    loop {
        let refusal = match turn::take(worker, cx, number) {
            Ok(turn) => return Ok(Some(turn)),
            Err(refusal) if is_temporary(&refusal) => refusal,
            Err(refusal) => return Err(refusal),
        };
        let ends = is_over(&refusal) || begun.elapsed() >= wait;
        if ends || worker.programs.stop.raised().is_some() {
            return Ok(None);
        }
        worker.programs.pause(LOOK_AGAIN);
    }
}

/// Whether a task may become ready later.
fn is_temporary(refusal: &Error) -> bool {
    matches!(refusal.code, ErrorCode::DependencyNotMet | ErrorCode::LockConflict)
}

/// Whether no task becomes ready without a change of the ledger: none is in progress or to be retried.
fn is_over(refusal: &Error) -> bool {
    let details = &refusal.details["details"];
    let count = |name: &str| details[name].as_u64().unwrap_or(0);
    details["rule"] == "nothing_ready" && count("in_progress") == 0 && count("retried_later") == 0
}
