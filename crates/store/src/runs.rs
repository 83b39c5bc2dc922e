//! Reads runs, and renews the lease by which an engine owns a run.

use std::collections::BTreeSet;

use contract::domain::run::{Run, RunId, RunState};
use contract::domain::time::{Lease, Timestamp};
use rusqlite::{Row, params, params_from_iter};

use crate::Tx;
use crate::conditions::{Conditions, rows};
use crate::error::{Result, unreadable};

/// Which runs to list. Every set field narrows.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub state: Option<RunState>,
    pub limit: usize,
}

const COLUMNS: &str =
    "id, state, asked, owner, lease_boot_id, lease_until, cancel_requested, result, created_at, ended_at";

impl Tx<'_> {
    pub fn run(&self, id: &RunId) -> Result<Option<Run>> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        self.one(&sql, id.as_str())
    }

    pub fn run_by_corr(&self, corr: &str) -> Result<Option<Run>> {
        let sql =
            format!("SELECT {COLUMNS} FROM runs WHERE corr = ?1 ORDER BY created_at DESC, id DESC LIMIT 1");
        self.one(&sql, corr)
    }

    fn one(&self, sql: &str, key: &str) -> Result<Option<Run>> {
        self.first(sql, [key], run_of)
    }

    /// Newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>> {
        let mut conditions = Conditions::default();
        if let Some(state) = filter.state {
            conditions.and("state =", state.as_str().to_owned());
        }
        let select = format!("SELECT {COLUMNS} FROM runs");
        let sql = conditions.statement(&select, "created_at DESC, id DESC", filter.limit);
        self.list(&sql, params_from_iter(conditions.values), run_of)
    }

    /// The runs of an AOP session, newest first.
    pub fn runs_of_session(&self, session_id: &str, limit: usize) -> Result<Vec<Run>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE session_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2"
        );
        self.list(&sql, params![session_id, rows(limit)], run_of)
    }

    /// Where the runs of an AOP session work.
    pub fn workspaces_of_session(&self, session_id: &str) -> Result<Vec<String>> {
        let mut statement = self.prepare("SELECT workspace FROM runs WHERE session_id = ?1")?;
        let found = statement.query_map([session_id], |row| row.get(0))?;
        let found: BTreeSet<String> = found.collect::<rusqlite::Result<_>>()?;
        Ok(found.into_iter().collect())
    }

    /// The runs that tasks of this run started and that have not ended. All of them: each has to be ended with it.
    pub fn unended_children(&self, parent: &RunId) -> Result<Vec<Run>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE asked ->> 'parent_run' = ?1
             AND state IN ('submitted', 'running', 'stopped') ORDER BY id"
        );
        self.list(&sql, [parent.as_str()], run_of)
    }

    /// The runs of one work item, newest first.
    pub fn runs_of_corr(&self, corr: &str, limit: usize) -> Result<Vec<Run>> {
        let sql =
            format!("SELECT {COLUMNS} FROM runs WHERE corr = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2");
        self.list(&sql, params![corr, rows(limit)], run_of)
    }

    /// The newest runs of all AOP sessions as session, run and time, newest first. Reads only the index.
    pub fn newest_of_sessions(&self, limit: usize) -> Result<Vec<(String, String, Timestamp)>> {
        let mut statement = self.prepare(
            "SELECT session_id, id, created_at FROM runs WHERE session_id IS NOT NULL
             ORDER BY created_at DESC, id DESC LIMIT ?1",
        )?;
        let found = statement.query_map([rows(limit)], |row| {
            Ok((row.get(0)?, row.get(1)?, Timestamp::from_millis(row.get(2)?)))
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Ids that start with `prefix`, at most `limit`.
    pub fn run_ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>> {
        let sql = "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        self.ids_with_prefix(sql, prefix, limit)
    }

    /// The ids of the newest runs, each with its workspace, newest first. Reads only the index.
    pub fn newest_runs(&self, limit: usize) -> Result<Vec<NewestRun>> {
        let mut statement = self.prepare(
            "SELECT id, workspace, asked ->> 'parent_run' IS NOT NULL FROM runs
             ORDER BY created_at DESC, id DESC LIMIT ?1",
        )?;
        let run =
            |row: &Row<'_>| Ok(NewestRun { id: row.get(0)?, workspace: row.get(1)?, is_nested: row.get(2)? });
        let runs = statement.query_map([rows(limit)], run)?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    }

    /// Renews the owner's lease on a run. A row update, not an event.
    pub fn renew_ownership(&self, run: &RunId, lease: &Lease) -> Result<()> {
        self.prepare("UPDATE runs SET lease_boot_id = ?2, lease_until = ?3 WHERE id = ?1")?
            .execute(params![run.as_str(), lease.boot_id, lease.until_millis])?;
        Ok(())
    }
}

/// A run, as far as names need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestRun {
    pub id: String,
    pub workspace: String,
    /// Whether a task of another run started it.
    pub is_nested: bool,
}

fn run_of(row: &Row<'_>) -> Result<Run> {
    let id: String = row.get(0)?;
    let state: String = row.get(1)?;
    let asked: String = row.get(2)?;
    let owner: Option<String> = row.get(3)?;
    let lease_boot_id: Option<String> = row.get(4)?;
    let lease_until: Option<i64> = row.get(5)?;
    let result: Option<String> = row.get(7)?;
    Ok(Run {
        asked: serde_json::from_str(&asked).map_err(|_| unreadable("request", &id, &asked))?,
        state: RunState::parse(&state).ok_or_else(|| unreadable("state", &id, &state))?,
        owner: owner
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("owner", &id, &text)))
            .transpose()?,
        owner_lease: lease_boot_id
            .zip(lease_until)
            .map(|(boot_id, until_millis)| Lease { boot_id, until_millis }),
        cancel_requested: row.get(6)?,
        result: result
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("result", &id, &text)))
            .transpose()?,
        created_at: Timestamp::from_millis(row.get(8)?),
        ended_at: row.get::<_, Option<i64>>(9)?.map(Timestamp::from_millis),
    })
}
