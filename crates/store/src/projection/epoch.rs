//! Applies halts, and which programs work.

use contract::domain::change::Change;
use contract::domain::epoch::Program;
use contract::domain::process::ProcessIdentity;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// Applies a halt, its lifting, or a program that begins or ends.
    pub(super) fn project_epoch(&self, change: &Change, at: Timestamp) -> Result<()> {
        match change {
            Change::Halted { epoch, reason, by } => {
                self.epoch_begun(*epoch, (true, reason.as_deref()), by, at)
            }
            Change::HaltLifted { epoch, by } => self.epoch_begun(*epoch, (false, None), by, at),
            Change::ProgramStarted { program } => self.program_started(program, at),
            Change::ProgramEnded { process } => self.program_ended(process),
            _ => Ok(()),
        }
    }

    /// Epochs only rise: a change that was decided on another epoch fits no row.
    fn epoch_begun(
        &self,
        number: i64,
        (is_halted, reason): (bool, Option<&str>),
        by: &str,
        at: Timestamp,
    ) -> Result<()> {
        self.change_one(
            "INSERT INTO epoch (id, number, is_halted, reason, decided_by, decided_at) VALUES (1, ?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET number = excluded.number, is_halted = excluded.is_halted,
             reason = excluded.reason, decided_by = excluded.decided_by, decided_at = excluded.decided_at
             WHERE excluded.number > epoch.number",
            params![number, is_halted, reason, by, at.millis()],
        )
    }

    fn program_started(&self, program: &Program, at: Timestamp) -> Result<()> {
        self.change_one(
            "INSERT INTO programs (process, command, started_at) VALUES (?1, ?2, ?3)",
            params![json(&program.process)?, program.command, at.millis()],
        )
    }

    fn program_ended(&self, process: &ProcessIdentity) -> Result<()> {
        self.change_one("DELETE FROM programs WHERE process = ?1", params![json(process)?])
    }
}
