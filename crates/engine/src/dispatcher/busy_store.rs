//! Waits for a store that another process has locked for longer than usual, without ending the children meanwhile.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use ops::Result;

use super::engine_run::EngineRun;
use super::millis;
use crate::observer::TaskProgress;

/// How long one attempt to write waits. Between two of them the engine looks whether it should stop.
pub(crate) const ONE_WAIT: Duration = Duration::from_secs(2);

impl EngineRun<'_> {
    /// Repeats a write while others hold the store's write lock. The children go on; the time of the wait does not
    /// count against them, because their reports are not read meanwhile.
    pub(crate) fn patiently<T>(&mut self, mut write: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let begun_ms = self.now_ms();
        let mut has_waited = false;
        let outcome = loop {
            match write(self) {
                Err(error) if error.code == ErrorCode::Busy && self.may_wait(begun_ms) => {
                    if !std::mem::replace(&mut has_waited, true) {
                        self.observer.report(TaskProgress::StoreBusy);
                    }
                    if self.settings.stop.raised().is_some() {
                        self.processes.stop_all();
                    }
                    self.observer.tick();
                }
                outcome => break outcome,
            }
        };
        if has_waited {
            self.waited_ms = self.waited_ms.saturating_add(self.now_ms() - begun_ms);
        }
        outcome
    }

    fn may_wait(&self, begun_ms: i64) -> bool {
        !self.settings.stop.insists() && self.now_ms() - begun_ms < millis(limits::ENGINE_BUSY_WAIT_MAX)
    }
}
