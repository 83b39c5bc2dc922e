//! Reading runs back.

use contract::domain::attempt::Attempt;
use contract::domain::run::{Run, RunId, RunState};
use contract::domain::task::Task;
use store::{Event, RunFilter};

use crate::context::Context;
use crate::error::Result;

/// A run with everything in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub run: Run,
    /// In the order of the plan, each with its attempts, oldest first.
    pub tasks: Vec<(Task, Vec<Attempt>)>,
}

/// A run by its id, an unambiguous beginning of it, or its correlation.
pub fn show(cx: &mut Context, which: &str) -> Result<Whole> {
    let tx = cx.store.read()?;
    let run = super::find(&tx, which)?;
    let mut tasks = Vec::new();
    for task in tx.tasks_of_run(&run.asked.id)? {
        let attempts = tx.attempts_of_task(&task.id)?;
        tasks.push((task, attempts));
    }
    Ok(Whole { run, tasks })
}

/// Just the run's own row: what an attached caller looks at again and again.
pub fn state(cx: &mut Context, id: &RunId) -> Result<Run> {
    super::required(&cx.store.read()?, id)
}

/// A run's tasks as they are now, without attempts: what a working engine looks at for cancellations.
pub fn tasks(cx: &mut Context, id: &RunId) -> Result<Vec<Task>> {
    Ok(cx.store.read()?.tasks_of_run(id)?)
}

/// Newest first.
pub fn list(cx: &mut Context, state: Option<RunState>, limit: usize) -> Result<Vec<Run>> {
    let limit = limit.clamp(1, contract::domain::limits::LIST_ROWS_MAX);
    Ok(cx.store.read()?.runs(&RunFilter { state, limit })?)
}

/// The run's whole trace, oldest first.
pub fn trace(cx: &mut Context, which: &str) -> Result<(Run, Vec<Event>)> {
    let run = super::find(&cx.store.read()?, which)?;
    let events = crate::event::by_corr(cx, &run.asked.corr)?;
    Ok((run, events))
}
