//! Lists the artifacts of a task, newest first.

use contract::continuity::ArtifactView;
use contract::domain::id::Id;
use contract::domain::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::limit::rows;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "artifact.list";
    const COMMAND: &'static str = "artifacts list";
    const SUMMARY: &'static str = "List the artifacts of a task, newest first";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(list);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub task_id: String,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task_id: String,
    pub count: usize,
    pub artifacts: Vec<ArtifactView>,
}

/// A missing task has no artifacts, as in the agent contract.
pub fn list(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    if request.task_id.is_empty() {
        return Err(Error::required("task_id"));
    }
    // The agent contract takes 0 for the usual number.
    let limit = rows(request.limit.filter(|&limit| limit != 0), limits::LIST_ROWS_DEFAULT)?;
    let task_id = cx.any_task_id(session, &request.task_id)?;
    let found = match Id::parse(&task_id) {
        Ok(id) => cx.store.read()?.artifacts(&id, limit)?,
        Err(_) => Vec::new(),
    };
    let artifacts: Vec<ArtifactView> = found.iter().map(ArtifactView::from).collect();
    Ok(Answer { task_id, count: artifacts.len(), artifacts })
}
