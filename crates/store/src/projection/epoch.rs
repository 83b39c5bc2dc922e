//! Applies halts, and which programs work.

use contract::domain::epoch::Program;
use contract::domain::process::ProcessIdentity;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// Epochs only rise: a change that was decided on another epoch fits no row.
    pub(super) fn epoch_begun(
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

    pub(super) fn program_started(&self, program: &Program, at: Timestamp) -> Result<()> {
        self.change_one(
            "INSERT INTO programs (process, command, started_at) VALUES (?1, ?2, ?3)",
            params![json(&program.process)?, program.command, at.millis()],
        )
    }

    pub(super) fn program_ended(&self, process: &ProcessIdentity) -> Result<()> {
        self.change_one("DELETE FROM programs WHERE process = ?1", params![json(process)?])
    }
}
