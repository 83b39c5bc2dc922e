//! Reads the events of a task or a project that say something about the work. Bookkeeping is in no index used here,
//! so that however much of it there is, it neither hides anything nor costs anything.

use contract::continuity::substance::{BOOKKEEPING, REPEATED};
use contract::domain::task::TaskId;
use rusqlite::params;

use crate::Tx;
use crate::conditions::rows;
use crate::error::Result;
use crate::events::{COLUMNS, Event};

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
    pub fn said(&self, scope: EventScope<'_>, limit: usize) -> Result<Vec<Event>> {
        let kinds: Vec<&str> = BOOKKEEPING.iter().chain(REPEATED).copied().collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM events WHERE {} AND is_change = 0 AND sender <> 'service.writ'
             AND kind NOT IN ({}) ORDER BY id DESC LIMIT ?2",
            scope.condition(),
            listed(&kinds)
        );
        self.event_list(&sql, params![scope.id(), rows(limit)])
    }

    /// The newest events of one of the kinds that repeat.
    pub fn repeated(&self, scope: EventScope<'_>, kind: &str, limit: usize) -> Result<Vec<Event>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM events WHERE {} AND kind = ?2 AND kind IN ({}) ORDER BY id DESC LIMIT ?3",
            scope.condition(),
            listed(REPEATED)
        );
        self.event_list(&sql, params![scope.id(), kind, rows(limit)])
    }
}

/// A list as in the conditions of the indexes. They are used only where a statement has the same list.
fn listed(kinds: &[&str]) -> String {
    kinds.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an index a statement would still be right, and slow.
    #[test]
    fn the_indexes_have_the_same_lists() {
        let migration = include_str!("../migrations/sqlite/0005_everyday.sql");
        let spaced = migration.split_whitespace().collect::<Vec<_>>().join(" ");
        let kinds: Vec<&str> = BOOKKEEPING.iter().chain(REPEATED).copied().collect();
        assert_eq!(spaced.matches(&format!("kind NOT IN ({})", listed(&kinds))).count(), 3);
        assert_eq!(spaced.matches(&format!("kind IN ({})", listed(REPEATED))).count(), 2);
    }
}
