//! Processes that could not be started because the machine is short of something. They are started later; no task
//! fails for it.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::run::RunState;
use ops::run::journal::Entry;
use ops::{Error, Result};

use super::{Dispatcher, millis};
use crate::executor::Stopped;
use crate::launcher::Shortage;
use crate::live::{Live, Phase};
use crate::observer::Progress;
use crate::supervisor::Report;

/// Nothing could be started since then, and no process has reported anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Starving {
    since_ms: i64,
    short_of: Shortage,
}

impl Starving {
    fn patience(&self) -> Duration {
        match self.short_of {
            Shortage::OwnDescriptors => limits::SHORTAGE_OWN_MAX,
            Shortage::Descriptors | Shortage::Processes | Shortage::Memory => limits::SHORTAGE_OF_OTHERS_MAX,
        }
    }
}

impl Dispatcher<'_> {
    /// Waits before the executor, or this check of it, is started again.
    pub(super) fn park(&mut self, task: usize, check: Option<usize>, short_of: Shortage) {
        let now_ms = self.now_ms();
        self.starving.get_or_insert(Starving { since_ms: now_ms, short_of });
        self.make_room();
        if check.is_none() {
            self.give_back_log(task);
            self.close_door(task);
        }
        let live = self.live_mut(task);
        let wait = wait_after(live.parkings);
        live.parkings = live.parkings.saturating_add(1);
        live.phase = Phase::Parked { check, due_ms: now_ms.saturating_add(millis(wait)) };
        if live.parkings == 1 {
            self.observer
                .report(Progress::Waiting { task: &self.board.slot(task).name, awaited: short_of.as_str() });
        }
    }

    /// Frees what was made in advance: it holds descriptors, processes and memory.
    fn make_room(&mut self) {
        self.children.make_room();
        self.settings.sandbox.prepared.make_room();
    }

    /// What waits holds no descriptor, or those that wait would keep all others from starting.
    fn give_back_log(&mut self, task: usize) {
        let path = self.log_path(task);
        if self.live_mut(task).log.take().is_some() {
            // If it stays, the attempt has no log.
            std::fs::remove_file(path).ok();
        }
    }

    /// Whether the report says that the machine is short of something. The process is then parked.
    pub(super) fn parks_for(&mut self, task: usize, report: &Report) -> bool {
        let Report::Fault(fault) = report else {
            self.starving = None;
            return false;
        };
        let Some(short_of) = Shortage::of(fault.errno) else { return false };
        let live = self.live_mut(task);
        let check = match live.phase {
            Phase::Executing | Phase::Setup { .. } => None,
            Phase::Checking { index, .. } => Some(index),
            Phase::Parked { .. } | Phase::Landing { .. } | Phase::Judging => return false,
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
            Phase::Parked { .. }
            | Phase::Executing
            | Phase::Setup { .. }
            | Phase::Checking { .. }
            | Phase::Landing { .. }
            | Phase::Judging => None,
        });
        let parked: Vec<_> = parked.collect();
        for (task, check, is_stopped) in parked {
            match check {
                None if is_stopped => self.executor_ended(task)?,
                Some(_) if is_stopped => self.conclude(task)?,
                None => self.begin_work(task)?,
                Some(index) => self.launch_check(task, index)?,
            }
        }
        self.give_up_starving(now_ms);
        Ok(())
    }

    /// Stops the run if not even one process can be started while nothing runs.
    fn give_up_starving(&mut self, now_ms: i64) {
        let is_parked = |live: &Live| matches!(live.phase, Phase::Parked { .. });
        let nothing_runs = !self.live.is_empty() && self.live.values().all(is_parked);
        let Some(starving) = self.starving.filter(|_| nothing_runs) else { return };
        let patience = starving.patience();
        if self.starved.is_some() || now_ms - starving.since_ms < millis(patience) {
            return;
        }
        let message = format!(
            "no process could be started for {} seconds, although nothing of the run was running: there are not enough {}",
            patience.as_secs(),
            starving.short_of
        );
        let run = &self.run.asked.id;
        let hint = format!("raise the limit, or end other processes, then `writ run --continue {run}`");
        self.starved = Some(Error::new(ErrorCode::Io, message).hint(&hint));
        self.live.values_mut().for_each(|live| live.stop(Stopped::Interrupted, &*self.children));
    }

    /// The error that ends a run that could start nothing. The run can be continued.
    pub(super) fn end_starved(&mut self) -> Result<()> {
        let Some(error) = self.starved.take() else { return Ok(()) };
        let mark = self.pipeline.mark();
        self.note(Entry::MoveRun { to: RunState::Stopped, result: None });
        // Moved by somebody else: then it does not wait for this engine either.
        self.commit_unless_moved(mark)?;
        Err(error)
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
