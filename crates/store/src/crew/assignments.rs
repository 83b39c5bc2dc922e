//! Assignments and the results that answered them.

use contract::domain::check::CheckSeen;
use contract::domain::crew::snapshot::{Snapshot, SnapshotChanges};
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::{Row, params};
use serde_json::Value;

use crate::Tx;
use crate::error::{Result, unreadable};

/// An assignment that was issued.
#[derive(Debug, Clone, PartialEq)]
pub struct AssignmentRow {
    pub token: i64,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub packet: Value,
    pub snapshot: Option<Snapshot>,
    /// How it ended; `None` while it is open.
    pub ended: Option<String>,
    pub issued_at: Timestamp,
    /// The digest of the token that another store gave its worker.
    pub token_hash: Option<String>,
}

/// A result that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    pub token: i64,
    pub task_id: TaskId,
    pub status: String,
    pub result: Value,
    pub checks: Vec<CheckSeen>,
    /// What happened to the files in scope, if it was checked.
    pub changes: Option<SnapshotChanges>,
}

const RESULT_COLUMNS: &str = "token, task_id, status, result, checks, changes";
const COLUMNS: &str = "token, run_id, task_id, packet, snapshot, ended, issued_at, token_hash";

impl Tx<'_> {
    pub fn assignment(&self, token: i64) -> Result<Option<AssignmentRow>> {
        let sql = format!("SELECT {COLUMNS} FROM assignments WHERE token = ?1");
        self.first(&sql, [token], assignment_row_of)
    }

    /// The last assignment of a task.
    pub fn last_assignment(&self, task: &TaskId) -> Result<Option<AssignmentRow>> {
        let sql = format!("SELECT {COLUMNS} FROM assignments WHERE task_id = ?1 ORDER BY token DESC LIMIT 1");
        self.first(&sql, [task.as_str()], assignment_row_of)
    }

    /// The results of a run, in the order of their tokens.
    pub fn results_of_run(&self, run: &RunId) -> Result<Vec<ResultRow>> {
        let sql = format!("SELECT {RESULT_COLUMNS} FROM results WHERE run_id = ?1 ORDER BY token");
        self.list(&sql, params![run.as_str()], result_row_of)
    }

    /// The last accepted result of a task.
    pub fn last_result(&self, task: &TaskId) -> Result<Option<ResultRow>> {
        let sql =
            format!("SELECT {RESULT_COLUMNS} FROM results WHERE task_id = ?1 ORDER BY token DESC LIMIT 1");
        self.first(&sql, [task.as_str()], result_row_of)
    }
}

fn assignment_row_of(row: &Row<'_>) -> Result<AssignmentRow> {
    let token: i64 = row.get(0)?;
    let owner = format!("assignment {token}");
    let (run, task, packet): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let snapshot: Option<String> = row.get(4)?;
    Ok(AssignmentRow {
        token,
        run_id: Id::parse(&run).map_err(|_| unreadable("run", &owner, &run))?,
        task_id: Id::parse(&task).map_err(|_| unreadable("task", &owner, &task))?,
        packet: serde_json::from_str(&packet).map_err(|_| unreadable("packet", &owner, &packet))?,
        snapshot: snapshot
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("snapshot", &owner, &text)))
            .transpose()?,
        ended: row.get(5)?,
        issued_at: Timestamp::from_millis(row.get(6)?),
        token_hash: row.get(7)?,
    })
}

fn result_row_of(row: &Row<'_>) -> Result<ResultRow> {
    let token: i64 = row.get(0)?;
    let owner = format!("result {token}");
    let (task, result, checks): (String, String, String) = (row.get(1)?, row.get(3)?, row.get(4)?);
    let changes: Option<String> = row.get(5)?;
    Ok(ResultRow {
        token,
        task_id: Id::parse(&task).map_err(|_| unreadable("task", &owner, &task))?,
        status: row.get(2)?,
        result: serde_json::from_str(&result).map_err(|_| unreadable("result", &owner, &result))?,
        checks: serde_json::from_str(&checks).map_err(|_| unreadable("checks", &owner, &checks))?,
        changes: changes
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("changes", &owner, &text)))
            .transpose()?,
    })
}
