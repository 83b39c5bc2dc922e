//! Lists tasks: highest priority first, then newest.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::workspace;
use serde::{Deserialize, Serialize};
use store::TaskFilter;

use crate::context::Context;
use crate::error::{Error, Result};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    /// A word of the agent contract, or one of ours.
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub project_id: Option<String>,
    #[serde(default)]
    pub priority: Option<i64>,
    #[serde(default)]
    pub limit: Option<i64>,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Vec<Task>> {
    page(cx, request).map(|(tasks, _)| tasks)
}

/// The same, and whether there are more than were asked for.
pub fn page(cx: &mut Context, request: &Request) -> Result<(Vec<Task>, bool)> {
    let limit = crate::limit::rows(request.limit, limits::LIST_ROWS_MAX)?;
    let filter = TaskFilter {
        statuses: request.status.as_deref().map(statuses).transpose()?.unwrap_or_default(),
        project_id: request.project_id.as_deref().map(workspace::id),
        priority: request.priority,
        limit: limit + 1,
    };
    let mut tasks = cx.store.read()?.tasks(&filter)?;
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok((tasks, more))
}

/// The states behind a word. The agent contract shows failed and canceled tasks as blocked, so its word finds them.
pub(super) fn statuses(word: &str) -> Result<Vec<Status>> {
    match (word, Status::from_continuity(word), Status::parse(word)) {
        ("blocked", _, _) => Ok(vec![Status::Blocked, Status::Failed, Status::Canceled]),
        (_, Some(status), _) | (_, None, Some(status)) => Ok(vec![status]),
        (_, None, None) => Err(Error::new(ErrorCode::InvalidInput, format!("invalid status '{word}'"))
            .hint("one of pending, in_progress, completed, blocked, failed, canceled")),
    }
}
