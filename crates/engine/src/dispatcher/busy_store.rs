//! Waits for a store that somebody else has locked for longer than usual, without ending the children meanwhile.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use ops::Result;

use super::{Dispatcher, millis};
use crate::observer::Progress;

/// How long one attempt to write waits. Between two of them the engine looks whether it should stop.
pub(crate) const ONE_WAIT: Duration = Duration::from_secs(2);

impl Dispatcher<'_> {
    /// Repeats a write while others hold the store's write lock. The children go on; the time of the wait does not
    /// count against them, because nobody could hear what they said.
    pub(crate) fn patiently<T>(&mut self, mut write: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let begun_ms = self.now_ms();
        let mut has_waited = false;
        let outcome = loop {
            match write(self) {
                Err(error) if error.code == ErrorCode::Busy && self.may_wait(begun_ms) => {
                    if !std::mem::replace(&mut has_waited, true) {
                        self.observer.report(Progress::StoreBusy);
                    }
                    self.heed_signal();
                    self.observer.tick();
                }
                outcome => break outcome,
            }
        };
        if has_waited {
            let waited_ms = self.now_ms() - begun_ms;
            for live in self.live.values_mut() {
                live.deadline_ms = live.deadline_ms.saturating_add(waited_ms);
                live.last_sign_ms = live.last_sign_ms.saturating_add(waited_ms);
            }
        }
        outcome
    }

    fn may_wait(&self, begun_ms: i64) -> bool {
        !self.settings.stop.insists() && self.now_ms() - begun_ms < millis(limits::ENGINE_BUSY_WAIT_MAX)
    }
}
