//! A machine that is short of what a process needs: tasks wait for it, and a run that can start nothing is stopped.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::run::RunState;
use ops::run::journal::JournalEntry;
use ops::{Error, Result};

use super::live::{Live, Pending};
use super::{Dispatcher, millis};
use crate::executor::Stopped;
use crate::launcher::Shortage;

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
    /// Notes that a process could not be started.
    pub(super) fn starve(&mut self, short_of: Shortage) {
        let since_ms = self.engine.now_ms();
        self.starving.get_or_insert(Starving { since_ms, short_of });
    }

    /// Stops the run if not even one process can be started while nothing runs.
    pub(super) fn give_up_starving(&mut self, now_ms: i64) {
        let is_parked = |live: &Live| matches!(live.pending(), Pending::Parked(_));
        let nothing_runs = self.tasks.is_any_live() && self.tasks.live().all(|(_, live)| is_parked(live));
        let Some(starving) = self.starving.filter(|_| nothing_runs) else { return };
        let patience = starving.patience();
        if self.engine.ends_early.starved.is_some() || now_ms - starving.since_ms < millis(patience) {
            return;
        }
        let message = format!(
            "no process could be started for {} seconds, although nothing of the run was running: there are not enough {}",
            patience.as_secs(),
            starving.short_of
        );
        let run = &self.engine.run.asked.id;
        let hint = format!("raise the limit, or end other processes, then `writ run --continue {run}`");
        self.engine.ends_early.starved = Some(Error::new(ErrorCode::Io, message).hint(&hint));
        let processes = &self.engine.processes;
        self.tasks.for_each_live(|live| live.stop(Stopped::Interrupted, processes));
    }

    /// The error that ends a run that could start nothing. The run can be continued.
    pub(super) fn end_starved(&mut self) -> Result<()> {
        let Some(error) = self.engine.ends_early.starved.take() else { return Ok(()) };
        let mark = self.engine.pipeline.mark();
        self.engine.note(JournalEntry::MoveRun { to: RunState::Stopped, result: None });
        // Moved by another process: then it does not wait for this engine either.
        self.engine.commit_unless_moved(mark)?;
        Err(error)
    }
}
