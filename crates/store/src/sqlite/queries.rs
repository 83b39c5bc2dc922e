//! Statements that name a JSON path, or the order in which `SQLite` joins.

use contract::domain::attempt::AttemptId;
use contract::domain::task::Task;
use rusqlite::params;

use crate::Tx;
use crate::error::Result;
use crate::tasks::COLUMNS;

impl Tx<'_> {
    /// The tasks of a session that have not ended well and whose failure aborts it, unless its newer runs have the same
    /// TASK. Newest first.
    pub fn aborting_tasks(&self, session_id: &str) -> Result<Vec<Task>> {
        // From the runs to their tasks: a store has far more tasks that failed.
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE id IN (
                SELECT tasks.id FROM runs CROSS JOIN tasks ON tasks.run_id = runs.id
                WHERE runs.session_id = ?1 AND +tasks.status IN ('failed', 'canceled')
                    AND tasks.spec ->> '$.policy.on_failure' = 'ABORT_SESSION'
                    AND NOT EXISTS (
                        SELECT 1 FROM runs AS later JOIN tasks AS newer ON newer.run_id = later.id
                        WHERE later.session_id = ?1
                            AND (later.created_at, later.id) > (runs.created_at, runs.id)
                            AND coalesce(newer.spec ->> '$.aop.task.task_id', newer.name)
                                = coalesce(tasks.spec ->> '$.aop.task.task_id', tasks.name)))"
        );
        let mut tasks = self.task_list(&sql, params![session_id])?;
        tasks.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        Ok(tasks)
    }

    pub(crate) fn attempt_named(&self, attempt_id: &AttemptId, agent_session: &str) -> Result<()> {
        self.change_one(
            "UPDATE attempts SET begun = json_set(begun, '$.agent_session', ?2) WHERE id = ?1",
            params![attempt_id.as_str(), agent_session],
        )
    }
}
