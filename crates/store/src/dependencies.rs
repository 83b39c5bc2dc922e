//! Reads dependencies between tasks.

use contract::domain::id::Id;
use contract::domain::reason::Reason;
use contract::domain::task::{Task, TaskId};
use rusqlite::{OptionalExtension, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};
use crate::tasks::COLUMNS;

impl Tx<'_> {
    /// The tasks that this one depends on, done or not.
    pub fn dependencies(&self, task: &TaskId) -> Result<Vec<TaskId>> {
        let mut statement =
            self.prepare("SELECT depends_on FROM task_dependencies WHERE task_id = ?1 ORDER BY depends_on")?;
        let ids = statement.query_map([task.as_str()], |row| row.get::<_, String>(0))?;
        ids.map(|id| parsed(id?)).collect()
    }

    /// The tasks that depend on this one, whether they still wait or not.
    pub fn dependents(&self, task: &TaskId, limit: usize) -> Result<Vec<TaskId>> {
        let mut statement = self.prepare(
            "SELECT task_id FROM task_dependencies WHERE depends_on = ?1 ORDER BY task_id LIMIT ?2",
        )?;
        let ids = statement.query_map(params![task.as_str(), rows(limit)], |row| row.get::<_, String>(0))?;
        ids.map(|id| parsed(id?)).collect()
    }

    /// How many of its dependencies are not done.
    pub fn open_dependencies(&self, task: &TaskId) -> Result<i64> {
        let mut statement = self.prepare("SELECT open_dependencies FROM tasks WHERE id = ?1")?;
        Ok(statement.query_row([task.as_str()], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    /// Tasks that depend on this one and are blocked for no other reason than their dependencies.
    pub fn dependents_waiting(&self, task: &TaskId) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?1)
             AND status = 'blocked'"
        );
        let mut waiting = self.task_list(&sql, params![task.as_str()])?;
        waiting.retain(|task| task.blocked_reason.as_ref().is_some_and(Reason::is_dependency));
        Ok(waiting)
    }

    /// The same, without those that have another open dependency.
    pub fn unblocked_dependents(&self, task: &TaskId) -> Result<Vec<Task>> {
        let mut freed = Vec::new();
        for dependent in self.dependents_waiting(task)? {
            if self.open_dependencies(&dependent.id)? == 0 {
                freed.push(dependent);
            }
        }
        Ok(freed)
    }
}

fn parsed(id: String) -> Result<TaskId> {
    Id::parse(&id).map_err(|_| unreadable("dependency", "a task", &id))
}
