//! The clock, ids and observer of a simulated engine. Each call may be the one at which the engine crashes.

use std::sync::{Arc, Mutex, PoisonError};

use contract::domain::id::Minter;
use contract::domain::time::{Clock, Now};
use engine::{Observer, TaskProgress};
use testkit::{ManualClock, SeededIds};

/// What a crash throws. It is not a panic, so nothing is printed.
pub(super) struct Crash;

/// Counts the calls of one engine into the world outside.
#[derive(Clone)]
pub(super) struct Fuse(Arc<Mutex<Count>>);

struct Count {
    calls: u64,
    crash_at: Option<u64>,
}

impl Fuse {
    pub(super) fn new(crash_at: Option<u64>) -> Self {
        Self(Arc::new(Mutex::new(Count { calls: 0, crash_at })))
    }

    /// The engine leaves its own code. It may not come back.
    pub(super) fn touch(&self) {
        // While a crash unwinds, destructors must not crash again.
        if std::thread::panicking() {
            return;
        }
        let is_now = {
            let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            count.calls += 1;
            count.crash_at == Some(count.calls)
        };
        if is_now {
            std::panic::resume_unwind(Box::new(Crash));
        }
    }
}

pub(super) struct FusedClock(pub(super) ManualClock, pub(super) Fuse);

impl Clock for FusedClock {
    fn now(&self) -> Now {
        self.1.touch();
        self.0.now()
    }
}

pub(super) struct FusedIds(pub(super) SeededIds, pub(super) Fuse);

impl Minter for FusedIds {
    fn random_bits(&mut self) -> u128 {
        self.1.touch();
        self.0.random_bits()
    }
}

/// Writes down what a person would see.
pub(super) struct FusedObserver {
    pub(super) fuse: Fuse,
    pub(super) story: Arc<Mutex<Vec<String>>>,
}

impl Observer for FusedObserver {
    fn report(&mut self, progress: TaskProgress<'_>) {
        // Floods are not worth reading.
        let told: String = format!("{progress:?}").chars().take(200).collect();
        self.story.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        self.fuse.touch();
    }

    fn tick(&mut self) {
        self.fuse.touch();
    }
}
