//! What is in the store, in a few numbers.

use contract::domain::limits;
use contract::domain::run::RunState;
use serde::Serialize;
use store::RunFilter;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub tasks: Vec<(String, i64)>,
    pub events: i64,
    pub running: Vec<String>,
    pub stopped: Vec<String>,
    pub focus_task_id: Option<String>,
}

pub fn status(cx: &mut Context, agent: Option<&str>) -> Result<Status> {
    let tx = cx.store.read()?;
    let runs = |state| -> Result<Vec<String>> {
        let filter = RunFilter { state: Some(state), limit: limits::LIST_ROWS_DEFAULT };
        Ok(tx.runs(&filter)?.into_iter().map(|run| run.asked.id.to_string()).collect())
    };
    Ok(Status {
        tasks: tx
            .task_counts()?
            .into_iter()
            .map(|(status, count)| (status.as_str().to_owned(), count))
            .collect(),
        events: tx.events_ever()?,
        running: runs(RunState::Running)?,
        stopped: runs(RunState::Stopped)?,
        focus_task_id: agent.map(|agent| tx.focus_of(agent)).transpose()?.flatten(),
    })
}
