//! Cancels what a task delegated: the runs that its program started, and those that their tasks started.

use contract::domain::change::Change;
use contract::domain::limits;
use contract::domain::run::{Run, RunState};
use contract::domain::task::{Task, TaskId};
use store::{EventFilter, RunFilter, Tx};

use super::cancel_one;
use crate::aop_event::task_id_of;
use crate::context::{Caller, Context};
use crate::error::Result;
use crate::record::EventWriter;

/// Cancels a run with every run that its tasks started. Says whether it is canceled, or still being canceled.
pub(crate) fn with_children(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    reason: Option<&str>,
) -> Result<&'static str> {
    let mut told = format!("the run {} that started it was canceled", run.asked.id);
    if let Some(reason) = reason {
        told = format!("{told}: {reason}");
    }
    for child in unended(work.tx, |child| child.asked.parent_run.as_ref() == Some(&run.asked.id))? {
        with_children(work, &child, Some(&told))?;
    }
    cancel_one(work, run, reason)
}

/// Cancels the runs that a task's program started. `ended` says what became of the task.
pub(super) fn of_task(work: &mut EventWriter<'_, '_>, task: &Task, ended: &str) -> Result<usize> {
    let name = task.part.as_ref().map_or_else(|| task.id.to_string(), task_id_of);
    let reason = format!("the task `{name}` that started it {ended}");
    let children = unended(work.tx, |child| child.asked.parent_task.as_ref() == Some(&task.id))?;
    for child in &children {
        with_children(work, child, Some(&reason))?;
    }
    Ok(children.len())
}

/// Cancels the runs that a task's program started, because the task did not end well. Says how many have not ended.
pub fn delegated(cx: &mut Context, caller: &Caller, task: &TaskId, ended: &str) -> Result<usize> {
    let is_child = |run: &Run| run.asked.parent_task.as_ref() == Some(task);
    if unended(&cx.store.read()?, is_child)?.is_empty() {
        return Ok(0);
    }
    let ended = contract::secrets::scrub(ended).into_owned();
    cx.viewing(|cx, view| {
        let tx = cx.store.begin()?;
        let now = cx.clock.now();
        let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view };
        let task = crate::task::required(&tx, task.as_str())?;
        let count = of_task(&mut work, &task, &ended)?;
        tx.commit()?;
        Ok(count)
    })
}

/// Why somebody asked to cancel a run, where they said it.
pub fn reason_of(cx: &mut Context, run: &Run) -> Result<Option<String>> {
    let asked = cx.store.read()?.events(&EventFilter {
        corr: Some(run.asked.corr.clone()),
        kinds: vec![Change::RUN_CANCEL_REQUESTED.to_owned()],
        own: true,
        limit: limits::LIST_ROWS_MAX,
        ..EventFilter::default()
    })?;
    // Runs that its tasks started share its correlation.
    let of_run = asked.into_iter().find(|it| it.record.run_id.as_deref() == Some(run.asked.id.as_str()));
    Ok(of_run.and_then(|event| Some(event.record.payload.get("reason")?.as_str()?.to_owned())))
}

/// Runs that have not ended. They are few: the caller of a run waits for its end.
fn unended(tx: &Tx<'_>, is_wanted: impl Fn(&Run) -> bool) -> Result<Vec<Run>> {
    let mut found = Vec::new();
    for state in [RunState::Submitted, RunState::Running, RunState::Stopped] {
        found.extend(tx.runs(&RunFilter { state: Some(state), limit: limits::LIST_ROWS_MAX })?);
    }
    found.retain(is_wanted);
    Ok(found)
}
