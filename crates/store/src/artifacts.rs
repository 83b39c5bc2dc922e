//! Reading the files that belong to tasks.

use contract::domain::artifact::{Artifact, NewArtifact};
use contract::domain::id::Id;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use rusqlite::params;

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

impl Tx<'_> {
    /// A task's artifacts, newest first.
    pub fn artifacts(&self, task: &TaskId, limit: usize) -> Result<Vec<Artifact>> {
        let mut statement = self.prepare(
            "SELECT id, project_id, file_path, content_type, event_id, created_at FROM artifacts
             WHERE task_id = ?1 ORDER BY number DESC LIMIT ?2",
        )?;
        let mut found = statement.query(params![task.as_str(), rows(limit)])?;
        let mut artifacts = Vec::new();
        while let Some(row) = found.next()? {
            let id: String = row.get(0)?;
            let added = NewArtifact {
                id: Id::parse(&id).map_err(|_| unreadable("id", "an artifact", &id))?,
                task_id: task.clone(),
                project_id: row.get(1)?,
                file_path: row.get(2)?,
                content_type: row.get(3)?,
            };
            let created_at = Timestamp::from_millis(row.get(5)?);
            artifacts.push(Artifact { added, event_id: row.get(4)?, created_at });
        }
        Ok(artifacts)
    }
}
