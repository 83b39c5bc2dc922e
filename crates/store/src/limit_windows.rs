//! Reading limit windows, and the tasks that wait for them.

use contract::domain::limit_window::LimitWindow;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::{Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

/// A task that waits for a limit window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitWaiter {
    pub task_id: TaskId,
    pub resource: String,
    pub since: Timestamp,
}

impl Tx<'_> {
    pub fn limit_window(&self, resource: &str) -> Result<Option<LimitWindow>> {
        let sql = "SELECT resource, limit_window FROM limit_windows WHERE resource = ?1";
        self.first(sql, [resource], window_of)
    }

    /// All that are remembered; the one that ends first comes first.
    pub fn limit_windows(&self, limit: usize) -> Result<Vec<LimitWindow>> {
        let sql = "SELECT resource, limit_window FROM limit_windows ORDER BY until LIMIT ?1";
        self.list(sql, params![rows(limit)], window_of)
    }

    /// What a task waits for.
    pub fn limit_waiter(&self, task: &TaskId) -> Result<Option<LimitWaiter>> {
        let sql = "SELECT task_id, resource, since FROM limit_waiters WHERE task_id = ?1";
        self.first(sql, [task.as_str()], waiter_of)
    }

    /// How many tasks wait for a resource. Those that were moved meanwhile wait no more.
    pub fn limit_waiters(&self, resource: &str) -> Result<u64> {
        let sql = "SELECT count(*) FROM limit_waiters p JOIN tasks t ON t.id = p.task_id
             WHERE p.resource = ?1 AND t.status = 'todo'";
        let count: i64 = self.prepare(sql)?.query_row([resource], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

fn window_of(row: &Row<'_>) -> Result<LimitWindow> {
    let (resource, window): (String, String) = (row.get(0)?, row.get(1)?);
    serde_json::from_str(&window).map_err(|_| unreadable("limit window", &resource, &window))
}

fn waiter_of(row: &Row<'_>) -> Result<LimitWaiter> {
    let id: String = row.get(0)?;
    Ok(LimitWaiter {
        task_id: TaskId::parse(&id).map_err(|_| unreadable("task", &id, &id))?,
        resource: row.get(1)?,
        since: Timestamp::from_millis(row.get(2)?),
    })
}
