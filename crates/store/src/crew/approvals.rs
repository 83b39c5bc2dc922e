//! Reads approvals.

use contract::domain::crew::approval::{ApprovalId, ApprovalState, Filed};
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::{Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

const COLUMNS: &str = "id, state, asked, decided_by, reason, used_by, requested_at";

impl Tx<'_> {
    pub fn approval(&self, id: &ApprovalId) -> Result<Option<Filed>> {
        let sql = format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1");
        Ok(self.list(&sql, params![id.as_str()], filed_of)?.pop())
    }

    /// All approvals of a task, oldest first.
    pub fn approvals_of_task(&self, task: &TaskId) -> Result<Vec<Filed>> {
        let sql = format!("SELECT {COLUMNS} FROM approvals WHERE task_id = ?1 ORDER BY id");
        self.list(&sql, params![task.as_str()], filed_of)
    }

    /// The approvals of a run, oldest first.
    pub fn approvals_of_run(&self, run: &RunId, limit: usize) -> Result<Vec<Filed>> {
        let sql = format!("SELECT {COLUMNS} FROM approvals WHERE run_id = ?1 ORDER BY id LIMIT ?2");
        self.list(&sql, params![run.as_str(), rows(limit)], filed_of)
    }

    /// The approvals in one state, oldest first.
    pub fn approvals_in(&self, state: ApprovalState, limit: usize) -> Result<Vec<Filed>> {
        let sql = format!("SELECT {COLUMNS} FROM approvals WHERE state = ?1 ORDER BY id LIMIT ?2");
        self.list(&sql, params![state.as_str(), rows(limit)], filed_of)
    }
}

fn filed_of(row: &Row<'_>) -> Result<Filed> {
    let id: String = row.get(0)?;
    let state: String = row.get(1)?;
    let asked: String = row.get(2)?;
    Ok(Filed {
        asked: serde_json::from_str(&asked).map_err(|_| unreadable("request", &id, &asked))?,
        state: ApprovalState::parse(&state).ok_or_else(|| unreadable("state", &id, &state))?,
        decided_by: row.get(3)?,
        reason: row.get(4)?,
        used_by: row.get(5)?,
        requested_at: Timestamp::from_millis(row.get(6)?),
    })
}
