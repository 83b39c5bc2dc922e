//! Reading runs back.

use contract::domain::attempt::Attempt;
use contract::domain::run::{Run, RunId, RunState};
use contract::domain::task::Task;
use serde_json::{Value, json};
use store::{Event, RunFilter, Stream};

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

/// How many of a run's oldest events are gone, because their time was over.
pub fn removed_events(cx: &mut Context, id: &RunId) -> Result<i64> {
    let stream = Stream::Run(id.clone()).name();
    Ok(cx.store.read()?.stream_extent(&stream)?.map_or(0, |extent| extent.anchor_seq))
}

/// A task's line in the answer of its run.
pub fn task_line(task: &Task, attempts: &[Attempt]) -> Value {
    let name = task.part.as_ref().map_or("", |part| part.spec.id.as_str());
    let last = attempts.last();
    let took = last.and_then(|last| Some(last.ended_at?.since(last.started_at).as_millis()));
    json!({
        "id": task.id,
        "name": name,
        "title": task.title,
        "status": task.status,
        "evidence": task.evidence,
        "reason": task.blocked_reason,
        "attempts": attempts.len(),
        "exit_code": last.and_then(|last| last.outcome.as_ref()).and_then(|outcome| outcome.exit_code),
        "took_ms": took.map(|ms| u64::try_from(ms).unwrap_or(0)),
    })
}
