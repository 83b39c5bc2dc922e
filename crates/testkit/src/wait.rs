//! Waits for a condition, always with the same deadline. No other code in the tests sleeps.

use std::time::{Duration, Instant};

/// How long a test waits for anything. No wait needs a quarter of it on an idle machine, and the test runner allows more,
/// so that what hangs is reported from here.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Pauses get longer with the wait: a short one ends at once, and a long one leaves the machine to what it waits for.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Returns as soon as the condition holds; panics with `what` after `PATIENCE`.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || condition().then_some(()));
}

/// Returns the value as soon as there is one; panics with `what` after `PATIENCE`.
#[track_caller]
pub fn eventually_some<T>(what: &str, value: impl FnMut() -> Option<T>) -> T {
    found_within(PATIENCE, what, value)
}

#[track_caller]
fn found_within<T>(deadline: Duration, what: &str, value: impl FnMut() -> Option<T>) -> T {
    within(deadline, value).unwrap_or_else(|| panic!("timed out after {deadline:?}: {what}"))
}

/// The value, if there is one before the deadline. Calls `value` at least once.
pub(crate) fn within<T>(deadline: Duration, mut value: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = value() {
            return Some(value);
        }
        let waited = started.elapsed();
        if deadline <= waited {
            return None;
        }
        pause((waited / 8).clamp(PAUSES.0, PAUSES.1));
    }
}

#[expect(clippy::disallowed_methods, reason = "a test can observe another process only by polling")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}

#[cfg(test)]
mod tests;
