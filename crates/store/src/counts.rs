//! Counts of tasks, runs, events and the rest.

use contract::domain::status::Status;
use contract::domain::time::Timestamp;

use crate::Tx;
use crate::error::{Result, unreadable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// The states that at least one task is in.
    pub tasks: Vec<(Status, i64)>,
    pub events: i64,
    pub archived_events: i64,
    pub memories: i64,
    pub expired_memories: i64,
    pub agents: i64,
    pub active_agents: i64,
    pub projects: i64,
}

impl Tx<'_> {
    /// Counts at `at`; an agent counts as active if it did something since `active_since`. Tasks and events, of which
    /// there may be many, are counted from tallies and stream heads.
    pub fn counts(&self, at: Timestamp, active_since: Timestamp) -> Result<Counts> {
        let number = |sql: &str, values: &[i64]| -> Result<i64> {
            Ok(self.prepare(sql)?.query_row(rusqlite::params_from_iter(values), |row| row.get(0))?)
        };
        Ok(Counts {
            tasks: self.task_counts()?,
            events: number("SELECT coalesce(sum(seq - anchor_seq), 0) FROM heads", &[])?,
            archived_events: number(
                "SELECT coalesce(sum(archived_seq - anchor_seq), 0) FROM heads WHERE archived_seq > anchor_seq",
                &[],
            )?,
            memories: number("SELECT count(*) FROM memories", &[])?,
            expired_memories: number(
                "SELECT count(*) FROM memories WHERE expires_at IS NOT NULL AND pinned = 0 AND expires_at <= ?1",
                &[at.millis()],
            )?,
            agents: number("SELECT count(*) FROM agents", &[])?,
            active_agents: number(
                "SELECT count(*) FROM agents WHERE last_active_at >= ?1",
                &[active_since.millis()],
            )?,
            projects: number("SELECT count(*) FROM projects", &[])?,
        })
    }

    /// The states that tasks are in, and how many are in each.
    pub fn task_counts(&self) -> Result<Vec<(Status, i64)>> {
        let sql = "SELECT status, sum(tasks) FROM task_tallies GROUP BY status HAVING sum(tasks) > 0 ORDER BY status";
        self.tallies(sql, [])
    }

    /// The same for one project; with `None`, for the tasks outside of projects.
    pub fn task_tallies(&self, project: Option<&str>) -> Result<Vec<(Status, i64)>> {
        let sql = "SELECT status, tasks FROM task_tallies WHERE project_id = ?1";
        self.tallies(sql, [project.unwrap_or_default()])
    }

    fn tallies(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<(Status, i64)>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(values)?;
        let mut counts = Vec::new();
        while let Some(row) = rows.next()? {
            let word: String = row.get(0)?;
            let status = Status::parse(&word).ok_or_else(|| unreadable("status", "a tally", &word))?;
            counts.push((status, row.get(1)?));
        }
        Ok(counts)
    }
}
