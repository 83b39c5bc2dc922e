//! Lists tasks: highest priority first, then newest.

use contract::continuity::TaskView;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::TaskFilter;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "task.list";
    const COMMAND: &'static str = "task list";
    const SUMMARY: &'static str = "List tasks, highest priority first";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(list);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    /// `null` for an empty list, as the agent contract prints it.
    pub tasks: Option<Vec<TaskView>>,
    /// There are more than the limit: a page is not the whole list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let (tasks, more) = page(cx, request)?;
    let views: Vec<TaskView> = tasks.iter().map(TaskView::from).collect();
    Ok(Answer { count: views.len(), tasks: Some(views).filter(|views| !views.is_empty()), more })
}

/// The tasks, and whether there are more than the limit.
fn page(cx: &mut Context, request: &Request) -> Result<(Vec<Task>, bool)> {
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
