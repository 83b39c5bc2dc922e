//! Applies changes of dependencies, and counts the open dependencies of each task.

use contract::domain::memory::Scope;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::params;

use crate::Tx;
use crate::error::{Result, unreadable};

impl Tx<'_> {
    pub(super) fn dependency_added(
        &self,
        task_id: &TaskId,
        depends_on: &TaskId,
        at: Timestamp,
    ) -> Result<()> {
        self.change_one(
            "INSERT INTO task_dependencies (task_id, depends_on) VALUES (?1, ?2)",
            params![task_id.as_str(), depends_on.as_str()],
        )?;
        self.dependencies_changed(task_id, at)
    }

    pub(super) fn dependency_removed(
        &self,
        task_id: &TaskId,
        depends_on: &TaskId,
        at: Timestamp,
    ) -> Result<()> {
        self.change_one(
            "DELETE FROM task_dependencies WHERE task_id = ?1 AND depends_on = ?2",
            params![task_id.as_str(), depends_on.as_str()],
        )?;
        self.dependencies_changed(task_id, at)
    }

    fn dependencies_changed(&self, task_id: &TaskId, at: Timestamp) -> Result<()> {
        self.change_one(
            "UPDATE tasks SET version = version + 1, updated_at = ?2 WHERE id = ?1",
            params![task_id.as_str(), at.millis()],
        )?;
        self.count_dependencies(task_id)
    }

    pub(super) fn count_dependencies(&self, task_id: &TaskId) -> Result<()> {
        self.change_one(
            "UPDATE tasks SET open_dependencies = (SELECT count(*) FROM task_dependencies d
             JOIN tasks n ON n.id = d.depends_on WHERE d.task_id = ?1 AND n.status <> 'done') WHERE id = ?1",
            params![task_id.as_str()],
        )
    }

    /// Adds `step` to the number of open dependencies of every task that depends on this one.
    pub(super) fn dependents_wait(&self, task_id: &TaskId, step: i64) -> Result<()> {
        let sql = "UPDATE tasks SET open_dependencies = open_dependencies + ?2
             WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?1)";
        self.prepare(sql)?.execute(params![task_id.as_str(), step])?;
        Ok(())
    }

    /// Deletes the task and the rows that belong to it; the log keeps their content.
    pub(super) fn task_deleted(&self, task_id: &TaskId) -> Result<()> {
        let id = task_id.as_str();
        let word: String =
            self.prepare("SELECT status FROM tasks WHERE id = ?1")?.query_row([id], |row| row.get(0))?;
        let status = Status::parse(&word).ok_or_else(|| unreadable("status", id, &word))?;
        if status != Status::Done {
            self.dependents_wait(task_id, -1)?;
        }
        self.tally(task_id, status, -1)?;
        self.prepare("UPDATE agents SET focus_task_id = NULL WHERE focus_task_id = ?1")?.execute([id])?;
        self.prepare("DELETE FROM memories WHERE scope = ?1 AND scope_id = ?2")?
            .execute([Scope::Task.as_str(), id])?;
        self.change_one("DELETE FROM tasks WHERE id = ?1", params![id])
    }
}
