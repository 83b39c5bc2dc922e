//! The machine's clock. The only file that reads it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use contract::domain::time::{BootTime, Clock, Now, Timestamp};

pub(crate) struct SystemClock {
    boot_id: String,
    /// The wall clock never goes back within a process, whatever someone does to it.
    last: AtomicI64,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        Self { boot_id: engine::supervisor::boot_id(), last: AtomicI64::new(i64::MIN) }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let wall = i64::try_from(wall).unwrap_or(i64::MAX);
        let wall = wall.max(self.last.fetch_max(wall, Ordering::Relaxed));
        Now {
            at: Timestamp::from_millis(wall),
            boot: BootTime { boot_id: self.boot_id.clone(), millis: boot_millis() },
        }
    }
}

/// Counts also while the machine sleeps, and cannot be set.
fn boot_millis() -> i64 {
    #[cfg(target_os = "linux")]
    let id = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let id = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(id);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}
