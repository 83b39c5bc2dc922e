//! Lists the artifacts of a task, newest first.

use contract::continuity::ArtifactView;
use contract::domain::id::Id;
use contract::domain::limits;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::limit::rows;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub task_id: String,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub task_id: String,
    pub count: usize,
    pub artifacts: Vec<ArtifactView>,
}

/// A task that is not there has none, as the agent contract has it.
pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let limit = rows(request.limit, limits::LIST_ROWS_DEFAULT)?;
    let found = match Id::parse(&request.task_id) {
        Ok(id) => cx.store.read()?.artifacts(&id, limit)?,
        Err(_) => Vec::new(),
    };
    let artifacts: Vec<ArtifactView> = found.iter().map(ArtifactView::from).collect();
    Ok(Answer { task_id: request.task_id.clone(), count: artifacts.len(), artifacts })
}
