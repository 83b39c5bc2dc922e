//! Reads what `writ resume` shows: the tasks an agent can take, and the events since its last call.

use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Now;
use rusqlite::params;

use crate::Tx;
use crate::conditions::rows;
use crate::error::Result;
use crate::events::{self, LoggedEvent, event_of};
use crate::tasks::COLUMNS;

/// Free for this agent: unclaimed, claimed by itself, or with an expired lease.
const FREE: &str = "(claim_agent IS NULL OR claim_agent = ?1 OR claim_boot_id <> ?2 OR claim_until <= ?3)";

/// The states in which an agent can take a task that belongs to no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeableState {
    /// Never started, and all dependencies are done.
    Ready,
    /// Started, but its claim was released or has expired.
    Abandoned,
}

/// The agent that looks for a task, and the project; with `None`, all projects.
#[derive(Debug, Clone, Copy)]
pub struct TaskSearch<'s> {
    pub agent: &'s str,
    pub project: Option<&'s str>,
}

impl TakeableState {
    /// Whether a task is in this state, apart from its claim and its dependencies.
    pub fn includes(self, task: &Task) -> bool {
        task.part.is_none()
            && match self {
                TakeableState::Ready => task.status == Status::Todo,
                TakeableState::Abandoned => task.status == Status::InProgress,
            }
    }

    fn condition(self) -> &'static str {
        match self {
            TakeableState::Ready => "status = 'todo' AND open_dependencies = 0 AND run_id IS NULL",
            TakeableState::Abandoned => "status = 'in_progress' AND run_id IS NULL",
        }
    }
}

impl Tx<'_> {
    /// Tasks that this agent can take, of one project or of all: highest priority first, then oldest.
    pub fn takeable(
        &self,
        state: TakeableState,
        search: TaskSearch<'_>,
        now: &Now,
        limit: usize,
    ) -> Result<Vec<Task>> {
        let TaskSearch { agent, project } = search;
        let narrowed = if project.is_some() { "project_id = ?5 AND " } else { "" };
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE {narrowed}{} AND {FREE}
             ORDER BY priority DESC, created_at, id LIMIT ?4",
            state.condition()
        );
        let (boot, millis, limit) = (&now.boot.boot_id, now.boot.millis, rows(limit));
        match project {
            Some(project) => self.task_list(&sql, params![agent, boot, millis, limit, project]),
            None => self.task_list(&sql, params![agent, boot, millis, limit]),
        }
    }

    /// Events after number `after`, oldest first: those of one project and of no project, or all. Includes archived
    /// ones: an agent that was away must not miss events that a summary only counts.
    pub fn events_since(&self, after: i64, project: Option<&str>, limit: usize) -> Result<Vec<LoggedEvent>> {
        let (columns, news) = (events::COLUMNS, events::news());
        let Some(project) = project else {
            let sql = format!("SELECT {columns} FROM events WHERE id > ?1 AND {news} ORDER BY id LIMIT ?2");
            return self.list(&sql, params![after, rows(limit)], event_of);
        };
        let of_project = format!(
            "SELECT {columns} FROM events WHERE project_id = ?1 AND id > ?2 AND {news} ORDER BY id LIMIT ?3"
        );
        let of_none = format!(
            "SELECT {columns} FROM events WHERE project_id IS NULL AND id > ?1 AND {news} ORDER BY id LIMIT ?2"
        );
        let mut found = self.list(&of_project, params![project, after, rows(limit)], event_of)?;
        found.extend(self.list(&of_none, params![after, rows(limit)], event_of)?);
        found.sort_unstable_by_key(|event| event.id);
        found.truncate(limit);
        Ok(found)
    }

    /// The done tasks of a project, last finished first.
    pub fn finished_tasks(&self, project: Option<&str>, limit: usize) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE status = 'done' AND project_id IS NOT DISTINCT FROM ?1
             ORDER BY updated_at DESC, id DESC LIMIT ?2"
        );
        self.task_list(&sql, params![project, rows(limit)])
    }
}
