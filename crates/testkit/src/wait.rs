//! Waits for a condition, always with a deadline. No other code in the tests sleeps.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(2);

/// Returns as soon as the condition holds; panics with `what` when the deadline passes first.
#[track_caller]
pub fn eventually(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(deadline, what, || condition().then_some(()));
}

/// Returns the value as soon as there is one; panics with `what` when the deadline passes first.
#[track_caller]
pub fn eventually_some<T>(deadline: Duration, what: &str, value: impl FnMut() -> Option<T>) -> T {
    match within(deadline, value) {
        Some(value) => value,
        None => panic!("timed out after {deadline:?}: {what}"),
    }
}

/// The value, if there is one before the deadline. Calls `value` at least once.
pub(crate) fn within<T>(deadline: Duration, mut value: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = value() {
            return Some(value);
        }
        if deadline <= started.elapsed() {
            return None;
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test can observe another process only by polling")]
fn pause() {
    std::thread::sleep(PAUSE);
}
