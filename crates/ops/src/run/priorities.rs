//! How urgent the tasks of a run are, for the engine that works it.

use contract::domain::change::Change;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use store::{EventFilter, Tx};

use crate::context::Context;
use crate::error::Result;

/// Changes that are read at once. The rest are read the next time.
const CHANGES_MAX: usize = 1000;

/// A change of a task's priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorityChange {
    /// The number of its event.
    pub event: i64,
    pub task: Option<TaskId>,
}

/// The last change of any task's priority, and the priorities of this run's tasks by their ids.
pub fn all(cx: &mut Context, run: &RunId) -> Result<(i64, Vec<(String, i64)>)> {
    let tx = cx.store.read()?;
    let last = changes(&tx, &EventFilter { limit: 1, ..EventFilter::default() })?.pop();
    Ok((last.map_or(0, |last| last.event), tx.priorities_of_run(run)?))
}

/// The changes after this event, oldest first, whatever run the tasks belong to.
pub fn changed(cx: &mut Context, after_id: i64) -> Result<Vec<PriorityChange>> {
    let filter = EventFilter { after_id, oldest_first: true, limit: CHANGES_MAX, ..EventFilter::default() };
    changes(&cx.store.read()?, &filter)
}

fn changes(tx: &Tx<'_>, filter: &EventFilter) -> Result<Vec<PriorityChange>> {
    let filter =
        EventFilter { kinds: vec![Change::TASK_PRIORITIZED.to_owned()], own: true, ..filter.clone() };
    let change = |event: store::LoggedEvent| PriorityChange {
        event: event.id,
        task: event.record.task_id.as_deref().and_then(|id| TaskId::parse(id).ok()),
    };
    Ok(tx.events(&filter)?.into_iter().map(change).collect())
}
