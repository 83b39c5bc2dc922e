//! Lists tasks: highest priority first, then newest.

use contract::continuity::TaskView;
use contract::continuity::state::StateFilter;
use contract::domain::limits;
use contract::domain::task::Task;
use contract::domain::workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::TaskFilter;

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "task.list";
    const COMMAND: &'static str = "task list";
    const SUMMARY: &'static str = "List tasks, highest priority first";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub status: Option<StateFilter>,
    #[serde(default)]
    pub project_id: Option<String>,
    /// Only tasks of exactly this priority.
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
        statuses: request.status.map(StateFilter::statuses).unwrap_or_default(),
        project_id: request.project_id.as_deref().map(workspace::id),
        priority: request.priority,
        limit: limit + 1,
    };
    let mut tasks = cx.store.read()?.tasks(&filter)?;
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok((tasks, more))
}
