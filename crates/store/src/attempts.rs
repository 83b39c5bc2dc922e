//! Reading the journal of attempts.

use std::collections::BTreeSet;

use contract::domain::attempt::{Attempt, AttemptId, AttemptState, NewAttempt};
use contract::domain::run::{Owner, RunId};
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::Tx;
use crate::error::{Result, unreadable};

const COLUMNS: &str = "id, state, begun, started_at, ended_at, outcome, rollback";

impl Tx<'_> {
    /// A task's attempts, oldest first.
    pub fn attempts_of_task(&self, task: &TaskId) -> Result<Vec<Attempt>> {
        let sql = format!("SELECT {COLUMNS} FROM attempts WHERE task_id = ?1 ORDER BY number");
        self.list(&sql, [task.as_str()], attempt_of)
    }

    pub fn attempt(&self, attempt: &AttemptId) -> Result<Option<Attempt>> {
        let sql = format!("SELECT {COLUMNS} FROM attempts WHERE id = ?1");
        Ok(self.list(&sql, [attempt.as_str()], attempt_of)?.pop())
    }

    /// The task of an attempt. `None` if the journal does not know it.
    pub fn task_of_attempt(&self, attempt: &AttemptId) -> Result<Option<TaskId>> {
        let sql = "SELECT task_id FROM attempts WHERE id = ?1";
        let found: Option<String> =
            self.prepare(sql)?.query_row([attempt.as_str()], |row| row.get(0)).optional()?;
        found.map(|id| TaskId::parse(&id).map_err(|_| unreadable("task", attempt.as_str(), &id))).transpose()
    }

    /// The state of an attempt. `None` if the journal does not know it.
    pub fn attempt_state(&self, attempt: &AttemptId) -> Result<Option<AttemptState>> {
        let sql = "SELECT state FROM attempts WHERE id = ?1";
        let word: Option<String> =
            self.prepare(sql)?.query_row([attempt.as_str()], |row| row.get(0)).optional()?;
        let state = |word: String| {
            AttemptState::parse(&word).ok_or_else(|| unreadable("state", attempt.as_str(), &word))
        };
        word.map(state).transpose()
    }

    /// Whether the journal has an attempt of the task that has not ended.
    pub fn has_open_attempt(&self, task: &TaskId) -> Result<bool> {
        let sql = "SELECT 1 FROM attempts WHERE task_id = ?1 AND state = 'started' LIMIT 1";
        Ok(self.prepare(sql)?.exists([task.as_str()])?)
    }

    /// Attempts of a run in the journal that have not ended.
    pub fn open_attempts(&self, run: &RunId) -> Result<Vec<Attempt>> {
        let sql =
            format!("SELECT {COLUMNS} FROM attempts WHERE run_id = ?1 AND state = 'started' ORDER BY id");
        self.list(&sql, [run.as_str()], attempt_of)
    }

    /// The engines that are at work or died during it: those of attempts and of runs that have not ended, each once.
    pub fn engines_at_work(&self) -> Result<Vec<Owner>> {
        let mut engines = BTreeSet::new();
        // Every run has an id; naming it makes this a search in the index of open attempts.
        let sql = "SELECT id, begun FROM attempts WHERE run_id > '' AND state = 'started'";
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, begun): (String, String) = (row.get(0)?, row.get(1)?);
            let begun: NewAttempt =
                serde_json::from_str(&begun).map_err(|_| unreadable("beginning", &id, &begun))?;
            engines.insert(begun.owner);
        }
        let sql = "SELECT id, owner FROM runs WHERE state = 'running' AND owner IS NOT NULL";
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, owner): (String, String) = (row.get(0)?, row.get(1)?);
            engines.insert(serde_json::from_str(&owner).map_err(|_| unreadable("owner", &id, &owner))?);
        }
        Ok(engines.into_iter().collect())
    }

    /// Records a heartbeat of an attempt. A row update, not an event.
    pub fn heartbeat(&self, attempt: &AttemptId, at: Timestamp) -> Result<()> {
        self.prepare("UPDATE attempts SET heartbeat_at = ?2 WHERE id = ?1")?
            .execute(params![attempt.as_str(), at.millis()])?;
        Ok(())
    }

    /// The last heartbeat of an attempt.
    pub fn heartbeat_of(&self, attempt: &AttemptId) -> Result<Option<Timestamp>> {
        let sql = "SELECT heartbeat_at FROM attempts WHERE id = ?1";
        let found: Option<Option<i64>> =
            self.prepare(sql)?.query_row([attempt.as_str()], |row| row.get(0)).optional()?;
        Ok(found.flatten().map(Timestamp::from_millis))
    }
}

fn attempt_of(row: &Row<'_>) -> Result<Attempt> {
    let id: String = row.get(0)?;
    let state: String = row.get(1)?;
    let begun: String = row.get(2)?;
    let outcome: Option<String> = row.get(5)?;
    let rollback: Option<String> = row.get(6)?;
    Ok(Attempt {
        begun: serde_json::from_str(&begun).map_err(|_| unreadable("beginning", &id, &begun))?,
        state: AttemptState::parse(&state).ok_or_else(|| unreadable("state", &id, &state))?,
        started_at: Timestamp::from_millis(row.get(3)?),
        ended_at: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
        outcome: outcome
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("outcome", &id, &text)))
            .transpose()?,
        rollback: rollback
            .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("rollback", &id, &text)))
            .transpose()?,
    })
}
