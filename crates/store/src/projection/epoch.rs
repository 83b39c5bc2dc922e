//! Applies halts, and which programs work.

use contract::domain::change::Change;
use contract::domain::epoch::WritProgram;
use contract::domain::process::ProcessIdentity;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::Result;

/// Epochs only rise: a change that was decided on another epoch fits no row.
const BEGIN_EPOCH: &str = "INSERT INTO epoch (id, number, is_halted, reason, decided_by, decided_at)
     VALUES (1, ?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET number = excluded.number,
     is_halted = excluded.is_halted, reason = excluded.reason, decided_by = excluded.decided_by,
     decided_at = excluded.decided_at WHERE excluded.number > epoch.number";

impl Tx<'_> {
    /// Applies a halt, its lifting, or a program that begins or ends.
    pub(super) fn project_epoch(&self, change: &Change, at: Timestamp) -> Result<()> {
        match change {
            Change::Halted { epoch, reason, by } => {
                self.change_one(BEGIN_EPOCH, params![epoch, true, reason, by, at.millis()])
            }
            Change::HaltLifted { epoch, by } => {
                self.change_one(BEGIN_EPOCH, params![epoch, false, None::<String>, by, at.millis()])
            }
            Change::ProgramStarted { program } => self.program_started(program, at),
            Change::ProgramEnded { process } => self.program_ended(process),
            _ => Ok(()),
        }
    }

    fn program_started(&self, program: &WritProgram, at: Timestamp) -> Result<()> {
        self.change_one(
            "INSERT INTO programs (process, command, started_at) VALUES (?1, ?2, ?3)",
            params![json(&program.process)?, program.command, at.millis()],
        )
    }

    fn program_ended(&self, process: &ProcessIdentity) -> Result<()> {
        self.change_one("DELETE FROM programs WHERE process = ?1", params![json(process)?])
    }
}
