//! Processes that could not be started because the machine is short of something. They are started later; no task
//! fails for it.

use std::time::Duration;

use contract::domain::limits;
use ops::Result;

use super::{Dispatcher, millis};
use crate::launcher::shortage;
use crate::live::Phase;
use crate::observer::Progress;
use crate::supervisor::Report;

impl Dispatcher<'_> {
    /// Waits before the executor, or this check of it, is started again.
    pub(super) fn park(&mut self, task: usize, check: Option<usize>, short_of: &'static str) {
        let now_ms = self.now_ms();
        let live = self.live_mut(task);
        let wait = wait_after(live.parkings);
        live.parkings = live.parkings.saturating_add(1);
        live.phase = Phase::Parked { check, due_ms: now_ms.saturating_add(millis(wait)) };
        if live.parkings == 1 {
            self.observer.report(Progress::Waiting { task: &self.board.slot(task).name, awaited: short_of });
        }
    }

    /// Whether the report says that the machine is short of something. The process is then parked.
    pub(super) fn parks_for(&mut self, task: usize, report: &Report) -> bool {
        let Report::Fault(fault) = report else { return false };
        let Some(short_of) = shortage(fault.errno) else { return false };
        let live = self.live_mut(task);
        let check = match live.phase {
            Phase::Executing => None,
            Phase::Checking { index, .. } => Some(index),
            Phase::Parked { .. } | Phase::Judging => return false,
        };
        if live.stopped.is_some() {
            return false;
        }
        self.park(task, check, short_of);
        true
    }

    /// Starts what is parked and due, and ends what was stopped meanwhile.
    pub(super) fn start_parked(&mut self) -> Result<()> {
        let now_ms = self.now_ms();
        let parked = self.live.iter().filter_map(|(task, live)| match live.phase {
            Phase::Parked { check, due_ms } if live.stopped.is_some() || due_ms <= now_ms => {
                Some((*task, check, live.stopped.is_some()))
            }
            Phase::Parked { .. } | Phase::Executing | Phase::Checking { .. } | Phase::Judging => None,
        });
        let parked: Vec<_> = parked.collect();
        for (task, check, is_stopped) in parked {
            match check {
                None if is_stopped => self.executor_ended(task)?,
                Some(_) if is_stopped => self.conclude(task)?,
                None => self.start_executor(task)?,
                Some(index) => self.launch_check(task, index)?,
            }
        }
        Ok(())
    }
}

/// Longer with each attempt to start, up to a limit.
fn wait_after(parkings: u32) -> Duration {
    let doubled = limits::SHORTAGE_WAIT_MIN.checked_mul(1_u32.checked_shl(parkings).unwrap_or(u32::MAX));
    doubled.map_or(limits::SHORTAGE_WAIT_MAX, |wait| wait.min(limits::SHORTAGE_WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_longer_up_to_a_limit() {
        let waits: Vec<Duration> = (0..40).map(wait_after).collect();
        assert_eq!(waits[0], limits::SHORTAGE_WAIT_MIN);
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
        assert_eq!(waits[39], limits::SHORTAGE_WAIT_MAX);
    }
}
