//! Lists the tasks that could be started now.

use contract::continuity::TaskView;
use contract::domain::limits;
use contract::domain::task::Task;
use contract::domain::workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Ready;

impl Verb for Ready {
    const NAME: &'static str = "task.ready";
    const COMMAND: &'static str = "ready";
    const SUMMARY: &'static str = "List tasks that could be started now";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub limit: Option<usize>,
    /// Only tasks of this project, without those of runs, which belong to their engines.
    #[serde(default)]
    pub project_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub tasks: Vec<TaskView>,
}

fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let limit = request.limit.unwrap_or(limits::LIST_ROWS_DEFAULT);
    let project = request.project_id.as_deref().map(workspace::id);
    let tasks = match project {
        Some(project) => ready_in(cx, &project, limit)?,
        None => ready(cx, limit)?,
    };
    let tasks: Vec<TaskView> = tasks.iter().map(TaskView::from).collect();
    Ok(Answer { count: tasks.len(), tasks })
}

/// Tasks of one project that could be started, without tasks of runs.
fn ready_in(cx: &mut Context, project: &str, limit: usize) -> Result<Vec<Task>> {
    let now = cx.clock.now();
    let (tx, limit) = (cx.store.read()?, limit.clamp(1, limits::LIST_ROWS_MAX));
    let found = tx.ready_in_project(project, with_spare(limit))?;
    Ok(found.into_iter().filter(|task| task.live_claim(&now).is_none()).take(limit).collect())
}

/// How many tasks are read, so that the list is full although some are held and left out.
fn with_spare(limit: usize) -> usize {
    (limit + limits::LIST_ROWS_DEFAULT).min(limits::LIST_ROWS_MAX)
}

/// Tasks that wait for nothing and that no agent holds: highest priority first, then oldest. Tasks of a run belong to its engine and are
/// shown too, so that a person sees all that is ready. Rows of a ledger that may only be retried later are not.
pub fn ready(cx: &mut Context, limit: usize) -> Result<Vec<Task>> {
    let now = cx.clock.now();
    let (tx, limit) = (cx.store.read()?, limit.clamp(1, limits::LIST_ROWS_MAX));
    let mut found = Vec::new();
    for task in tx.ready_tasks(with_spare(limit))? {
        if task.live_claim(&now).is_some() {
            continue;
        }
        let row = if task.part.is_some() { tx.ledger_row(&task.id)? } else { None };
        if row.is_none_or(|known| known.row.wait_left(now.at).is_none()) {
            found.push(task);
        }
    }
    found.truncate(limit);
    Ok(found)
}
