//! What each agent is looking at.

use rusqlite::OptionalExtension;

use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// The task an agent last focused on.
    pub fn focus_of(&self, agent: &str) -> Result<Option<String>> {
        let mut statement = self.prepare("SELECT focus_task_id FROM agents WHERE name = ?1")?;
        Ok(statement.query_row([agent], |row| row.get(0)).optional()?.flatten())
    }
}
