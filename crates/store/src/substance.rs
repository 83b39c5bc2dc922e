//! Reads the events of a task or a project that say something about the work. Bookkeeping is in no index used here,
//! so that however much of it there is, it neither hides anything nor costs anything.

use contract::domain::task::TaskId;
use rusqlite::params;

use crate::Tx;
use crate::conditions::rows;
use crate::error::Result;
use crate::events::{COLUMNS, LoggedEvent, event_of};

/// Where to look for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope<'s> {
    Task(&'s TaskId),
    Project(&'s str),
    /// The project's events that belong to no task.
    ProjectAlone(&'s str),
}

impl EventScope<'_> {
    fn condition(&self) -> &'static str {
        match self {
            EventScope::Task(_) => "task_id = ?1",
            EventScope::Project(_) => "project_id = ?1",
            EventScope::ProjectAlone(_) => "project_id = ?1 AND task_id IS NULL",
        }
    }

    fn id(&self) -> &str {
        match self {
            EventScope::Task(id) => id.as_str(),
            EventScope::Project(id) | EventScope::ProjectAlone(id) => id,
        }
    }
}

impl Tx<'_> {
    /// What agents recorded, newest first: no changes, no bookkeeping, no kinds that repeat.
    pub fn said(&self, scope: EventScope<'_>, limit: usize) -> Result<Vec<LoggedEvent>> {
        let (columns, condition) = (COLUMNS, scope.condition());
        let sql = format!(
            "SELECT {columns} FROM events WHERE {condition} AND substance = 1 ORDER BY id DESC LIMIT ?2"
        );
        self.list(&sql, params![scope.id(), rows(limit)], event_of)
    }

    /// The newest events of one of the kinds that repeat.
    pub fn repeated(&self, scope: EventScope<'_>, kind: &str, limit: usize) -> Result<Vec<LoggedEvent>> {
        let (columns, condition) = (COLUMNS, scope.condition());
        let sql = format!(
            "SELECT {columns} FROM events WHERE {condition} AND substance = 2 AND kind = ?2
             ORDER BY id DESC LIMIT ?3"
        );
        self.list(&sql, params![scope.id(), kind, rows(limit)], event_of)
    }
}
