//! A clock that moves only when a test moves it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::domain::time::{BootTime, Clock, Now, Timestamp};

/// Copies share one time, so a test can keep one and hand out the others.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<Mutex<Now>>,
}

impl ManualClock {
    /// Starts at noon on 1 January 2026, ten minutes after the machine was booted.
    pub fn new() -> Self {
        Self::at("2026-01-01T12:00:00Z")
    }

    /// Starts at this time. Panics if the text is not a time.
    pub fn at(text: &str) -> Self {
        let at = Timestamp::parse(text).expect("a test names a time in RFC 3339 form");
        let boot = BootTime { boot_id: "boot-1".to_owned(), millis: 600_000 };
        Self { now: Arc::new(Mutex::new(Now { at, boot })) }
    }

    /// Time passes: both clocks move.
    pub fn advance(&self, length: Duration) {
        self.change(|now| {
            now.at = now.at.plus(length);
            now.boot.millis +=
                i64::try_from(length.as_millis()).expect("BUG: the length of a test fits into 64 bits");
        });
    }

    /// Sets the wall clock, forward or back. No time passes.
    pub fn set_wall(&self, at: Timestamp) {
        self.change(|now| now.at = at);
    }

    /// Moves the wall clock by this many milliseconds, forward or back. No time passes.
    pub fn jump_wall(&self, millis: i64) {
        self.change(|now| now.at = Timestamp::from_millis(now.at.millis() + millis));
    }

    /// Reboots: the boot clock starts at zero with a new boot id.
    pub fn reboot(&self) {
        self.change(|now| {
            let number = now.boot.boot_id.trim_start_matches("boot-").parse::<u32>();
            let next = number.expect("BUG: only this file names boots") + 1;
            now.boot = BootTime { boot_id: format!("boot-{next}"), millis: 0 };
        });
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        // A test that panicked in another thread has failed already; the time is still valid.
        change(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
