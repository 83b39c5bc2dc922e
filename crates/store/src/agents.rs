//! Each agent's focus, and the cursor up to which it has read events.

use contract::domain::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::Tx;
use crate::error::Result;

/// The stored state of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentState {
    pub focus_task_id: Option<String>,
    pub focus_project_id: Option<String>,
    /// Grows with each change of focus.
    pub version: i64,
    pub last_active_at: Timestamp,
}

/// A project that agents work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub metadata: String,
    pub created_at: Timestamp,
}

impl Tx<'_> {
    /// The task an agent last focused on.
    pub fn focus_of(&self, agent: &str) -> Result<Option<String>> {
        Ok(self.agent(agent)?.and_then(|state| state.focus_task_id))
    }

    pub fn agent(&self, name: &str) -> Result<Option<AgentState>> {
        let mut statement = self.prepare(
            "SELECT focus_task_id, focus_project_id, version, last_active_at FROM agents WHERE name = ?1",
        )?;
        let state = statement.query_row([name], |row| {
            Ok(AgentState {
                focus_task_id: row.get(0)?,
                focus_project_id: row.get(1)?,
                version: row.get(2)?,
                last_active_at: Timestamp::from_millis(row.get(3)?),
            })
        });
        Ok(state.optional()?)
    }

    /// The last event that an agent has been shown in a project; with `None`, outside of projects.
    pub fn cursor(&self, agent: &str, project: Option<&str>) -> Result<i64> {
        let mut statement =
            self.prepare("SELECT last_event_id FROM cursors WHERE agent = ?1 AND project_id = ?2")?;
        let seen = statement.query_row([agent, project.unwrap_or_default()], |row| row.get(0));
        Ok(seen.optional()?.unwrap_or(0))
    }

    /// Moves a cursor forward; it never goes back. A row update, not an event.
    pub fn advance_cursor(&self, agent: &str, project: Option<&str>, to: i64, at: Timestamp) -> Result<()> {
        self.prepare(
            "INSERT INTO cursors (agent, project_id, last_event_id, updated_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (agent, project_id) DO UPDATE SET updated_at = excluded.updated_at,
             last_event_id = CASE WHEN cursors.last_event_id < excluded.last_event_id
             THEN excluded.last_event_id ELSE cursors.last_event_id END",
        )?
        .execute(params![agent, project.unwrap_or_default(), to, at.millis()])?;
        Ok(())
    }

    pub fn project_row(&self, id: &str) -> Result<Option<Project>> {
        let mut statement = self.prepare("SELECT name, metadata, created_at FROM projects WHERE id = ?1")?;
        let found = statement.query_row([id], |row| {
            Ok(Project {
                id: id.to_owned(),
                name: row.get(0)?,
                metadata: row.get(1)?,
                created_at: Timestamp::from_millis(row.get(2)?),
            })
        });
        Ok(found.optional()?)
    }
}
