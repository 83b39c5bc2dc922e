//! Reads the rows of a run's ledger, its applied deltas, and its blockers.

use contract::domain::crew::row::CrewRow as OperatorRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{AppliedDelta, number_of};
use contract::domain::id::Id;
use contract::domain::run::{DocumentKind, NewRun, RunId};
use contract::domain::task::TaskId;
use contract::domain::time::{BootTime, Now, Timestamp};
use contract::operator::Blocker;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use crate::Tx;
use crate::error::{Result, unreadable};

/// A task's row in the operator contract's ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    pub task_id: TaskId,
    pub reference: TaskRef,
    pub row: OperatorRow,
    pub heard: Option<LastHeartbeat>,
}

/// The last heartbeat, on both clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastHeartbeat {
    pub at: Timestamp,
    pub boot: BootTime,
}

const COLUMNS: &str = "task_id, reference, row, heard_at, heard_boot_id, heard_boot_ms";

impl Tx<'_> {
    /// The oldest run of a crew in a workspace.
    pub fn first_ledger_in(&self, workspace: &str) -> Result<Option<RunId>> {
        // Most others are left out without being read.
        let sql =
            "SELECT asked FROM runs WHERE workspace = ?1 AND asked LIKE '%ledger%' ORDER BY created_at, id";
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([workspace])?;
        while let Some(row) = rows.next()? {
            let asked: String = row.get(0)?;
            let run: NewRun =
                serde_json::from_str(&asked).map_err(|_| unreadable("run", workspace, &asked))?;
            if run.kind == DocumentKind::Ledger {
                return Ok(Some(run.id));
            }
        }
        Ok(None)
    }

    /// The version of the ledger, which grows by one with every applied delta.
    pub fn ledger_version(&self, run: &RunId) -> Result<u64> {
        let mut statement = self.prepare("SELECT version FROM ledgers WHERE run_id = ?1")?;
        let version: Option<i64> = statement.query_row([run.as_str()], |row| row.get(0)).optional()?;
        Ok(version.map_or(0, |version| u64::try_from(version).unwrap_or(0)))
    }

    /// The rows that were written; a task of a plan has none until something happens to it.
    pub fn ledger_rows(&self, run: &RunId) -> Result<Vec<LedgerRow>> {
        let sql = format!("SELECT {COLUMNS} FROM ledger_rows WHERE run_id = ?1");
        self.list(&sql, [run.as_str()], row_of)
    }

    pub fn ledger_row(&self, task: &TaskId) -> Result<Option<LedgerRow>> {
        let sql = format!("SELECT {COLUMNS} FROM ledger_rows WHERE task_id = ?1");
        self.first(&sql, [task.as_str()], row_of)
    }

    /// The task that operator documents call by this name. Uses only index look-ups.
    pub fn task_named(&self, run: &RunId, reference: &TaskRef) -> Result<Option<TaskId>> {
        let mut statement =
            self.prepare("SELECT task_id FROM ledger_rows WHERE run_id = ?1 AND reference = ?2")?;
        let keys = [run.as_str(), reference.as_str()];
        let mut id: Option<String> = statement.query_row(keys, |row| row.get(0)).optional()?;
        if let Some(number) = number_of(reference).filter(|_| id.is_none()) {
            let mut statement = self.prepare("SELECT id FROM tasks WHERE run_id = ?1 AND number = ?2")?;
            id = statement.query_row(params![run.as_str(), number], |row| row.get(0)).optional()?;
        }
        id.map(|id| Id::parse(&id).map_err(|_| unreadable("task", &id, &id))).transpose()
    }

    /// The delta that was applied under this id: `None`, or its digest if it is known.
    pub fn applied_delta(&self, run: &RunId, delta_id: &str) -> Result<Option<Option<String>>> {
        let mut statement =
            self.prepare("SELECT digest FROM ledger_deltas WHERE run_id = ?1 AND delta_id = ?2")?;
        Ok(statement.query_row([run.as_str(), delta_id], |row| row.get(0)).optional()?)
    }

    /// All applied deltas, by id.
    pub fn applied_deltas(&self, run: &RunId) -> Result<Vec<AppliedDelta>> {
        let sql = "SELECT delta_id, digest FROM ledger_deltas WHERE run_id = ?1 ORDER BY delta_id";
        let mut statement = self.prepare(sql)?;
        let delta = |row: &Row<'_>| Ok(AppliedDelta { delta_id: row.get(0)?, digest: row.get(1)? });
        let deltas = statement.query_map([run.as_str()], delta)?;
        Ok(deltas.collect::<rusqlite::Result<Vec<AppliedDelta>>>()?)
    }

    /// The highest token that was ever granted to a run, in this store or in the one it was imported from.
    pub fn fencing_of_run(&self, run: &RunId) -> Result<i64> {
        let mut here = self.prepare("SELECT coalesce(max(token), 0) FROM locks WHERE run_id = ?1")?;
        let here: i64 = here.query_row([run.as_str()], |row| row.get(0))?;
        let mut elsewhere = self.prepare("SELECT fencing FROM handoffs WHERE run_id = ?1")?;
        let elsewhere: Option<i64> = elsewhere.query_row([run.as_str()], |row| row.get(0)).optional()?;
        Ok(here.max(elsewhere.unwrap_or(0)))
    }

    /// The digest of the bundle that a run was imported from, and its constraints if they are not writ's own.
    pub fn handoff_of_run(&self, run: &RunId) -> Result<Option<(String, Option<Value>)>> {
        let mut statement = self.prepare("SELECT digest, constraints FROM handoffs WHERE run_id = ?1")?;
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?));
        let Some((digest, text)) = statement.query_row([run.as_str()], row).optional()? else {
            return Ok(None);
        };
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|_| unreadable("constraints", run.as_str(), &text))
        };
        Ok(Some((digest, text.map(read).transpose()?)))
    }

    /// Records a heartbeat of the task's worker. A row update, not an event.
    pub fn record_heartbeat(&self, task: &TaskId, now: &Now) -> Result<()> {
        self.prepare(
            "UPDATE ledger_rows SET heard_at = ?2, heard_boot_id = ?3, heard_boot_ms = ?4 WHERE task_id = ?1",
        )?
        .execute(params![task.as_str(), now.at.millis(), now.boot.boot_id, now.boot.millis])?;
        Ok(())
    }

    pub fn blockers_of_run(&self, run: &RunId) -> Result<Vec<(TaskId, Blocker)>> {
        let sql = "SELECT task_id, blocker FROM blockers WHERE run_id = ?1 ORDER BY task_id";
        let mut statement = self.prepare(sql)?;
        let rows = statement
            .query_map([run.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut found = Vec::new();
        for row in rows {
            let (id, text) = row?;
            let blocker = serde_json::from_str(&text).map_err(|_| unreadable("blocker", &id, &text))?;
            found.push((Id::parse(&id).map_err(|_| unreadable("task", &id, &id))?, blocker));
        }
        Ok(found)
    }

    pub fn blocker_of_task(&self, task: &TaskId) -> Result<Option<Blocker>> {
        let mut statement = self.prepare("SELECT blocker FROM blockers WHERE task_id = ?1")?;
        let text: Option<String> = statement.query_row([task.as_str()], |row| row.get(0)).optional()?;
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|_| unreadable("blocker", task.as_str(), &text))
        };
        text.map(read).transpose()
    }
}

fn row_of(row: &Row<'_>) -> Result<LedgerRow> {
    let id: String = row.get(0)?;
    let reference: String = row.get(1)?;
    let text: String = row.get(2)?;
    let heard_at: Option<i64> = row.get(3)?;
    let heard = match heard_at {
        Some(at) => Some(LastHeartbeat {
            at: Timestamp::from_millis(at),
            boot: BootTime { boot_id: row.get(4)?, millis: row.get(5)? },
        }),
        None => None,
    };
    Ok(LedgerRow {
        task_id: Id::parse(&id).map_err(|_| unreadable("task", &id, &id))?,
        reference: TaskRef::parse(&reference).ok_or_else(|| unreadable("name", &id, &reference))?,
        row: serde_json::from_str(&text).map_err(|_| unreadable("ledger row", &id, &text))?,
        heard,
    })
}
