//! Applies worklog lines and imported ledgers to the tables.

use contract::domain::crew::CrewChange;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::{Error, Result};

impl Tx<'_> {
    /// Appends a line; the previous line must have the number before its own.
    pub(super) fn worklog_appended(&self, change: &CrewChange, at: Timestamp) -> Result<()> {
        let CrewChange::WorklogAppended { run_id, task_id, token, line } = change else { return Ok(()) };
        let before = self.worklog_end(task_id)?;
        let (last, bytes) = before.map_or((0, 0), |end| (end.line.number, end.bytes));
        if line.number != last.saturating_add(1) {
            return Err(Error::Unfit { rows: 0 });
        }
        let own = i64::try_from(line.text.len()).unwrap_or(i64::MAX).saturating_add(1);
        self.change_one(
            "INSERT INTO worklog_lines (task_id, number, run_id, token, line, digest, bytes, appended_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                task_id.as_str(),
                line.number,
                run_id.as_str(),
                token,
                line.text,
                line.digest,
                bytes.saturating_add(own),
                at.millis()
            ],
        )
    }

    pub(super) fn handoff_taken(&self, change: &CrewChange, at: Timestamp) -> Result<()> {
        let CrewChange::HandoffTaken { run_id, digest, ledger_version, fencing, spent, deltas, constraints } =
            change
        else {
            return Ok(());
        };
        let constraints = constraints.as_ref().map(json).transpose()?;
        self.change_one(
            "INSERT INTO handoffs (run_id, digest, fencing, taken_at, constraints) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run_id.as_str(), digest, fencing, at.millis(), constraints],
        )?;
        if let Some(spent) = spent {
            self.change_one(
                "UPDATE budgets SET cost_spent = cost_spent + ?2, tokens_spent = tokens_spent + ?3
                 WHERE run_id = ?1",
                params![run_id.as_str(), spent.cost.0, spent.tokens],
            )?;
        }
        self.ledger_moved(run_id, *ledger_version, None)?;
        for delta in deltas {
            self.ledger_moved(run_id, *ledger_version, Some(delta))?;
        }
        Ok(())
    }
}
