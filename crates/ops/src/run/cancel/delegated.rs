//! Cancels what a task delegated: the runs that its program started, and those that their tasks started.

use contract::domain::change::Change;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::run::{Run, RunId};
use contract::domain::task::{Task, TaskId};
use serde::Deserialize;
use store::{EventFilter, Tx};

use super::cancel_one;
use crate::aop_event::task_id_of;
use crate::context::{Caller, Context};
use crate::error::Result;
use crate::record::EventWriter;
use crate::run::is_worked_by_another;

/// Cancels a run with every run that its tasks started. Says whether it is canceled, or still being canceled.
pub(super) fn with_children(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    reason: Option<&Reason>,
) -> Result<&'static str> {
    with_children_except(work, run, reason, None)
}

/// The same, but for one of those runs. Says whether it is canceled, or still being canceled.
pub(crate) fn with_children_except(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    reason: Option<&Reason>,
    except: Option<&RunId>,
) -> Result<&'static str> {
    end_children(work, run, reason, except)?;
    cancel_one(work, run, reason)
}

fn end_children(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    reason: Option<&Reason>,
    except: Option<&RunId>,
) -> Result<()> {
    let mut told = format!("the run {} that started it was canceled", run.asked.id);
    if let Some(reason) = reason {
        told = format!("{told}: {reason}");
    }
    for child in work.tx.unended_children(&run.asked.id)? {
        if except != Some(&child.asked.id) {
            end_child(work, &child, &told.as_str().into(), except)?;
        }
    }
    Ok(())
}

fn end_child(work: &mut EventWriter<'_, '_>, run: &Run, told: &Reason, except: Option<&RunId>) -> Result<()> {
    // It may have started others since it was asked to stop.
    end_children(work, run, Some(told), except)?;
    if !(run.cancel_requested && is_worked_by_another(run, work.now, work.view)?) {
        cancel_one(work, run, Some(told))?;
    }
    Ok(())
}

/// Cancels the runs that a task started. `ended` is the outcome of the task.
pub(super) fn of_task(work: &mut EventWriter<'_, '_>, task: &Task, ended: &str) -> Result<usize> {
    let name = task.part.as_ref().map_or_else(|| task.id.to_string(), task_id_of);
    let reason = Reason::new(format!("the task `{name}` that started it {ended}"));
    let children = children_of(work.tx, task)?;
    for child in &children {
        end_child(work, child, &reason, None)?;
    }
    Ok(children.len())
}

/// Cancels the runs that a task's program started, because the task did not end well. Says how many have not ended.
pub fn delegated(cx: &mut Context, caller: &Caller, task: &TaskId, ended: &str) -> Result<usize> {
    let tx = cx.store.read()?;
    if children_of(&tx, &crate::task::required(&tx, task.as_str())?)?.is_empty() {
        return Ok(0);
    }
    drop(tx);
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

/// The given reason for a cancellation, if any.
pub fn reason_of(cx: &mut Context, run: &Run) -> Result<Option<Reason>> {
    let asked = cx.store.read()?.events(&EventFilter {
        corr: Some(run.asked.corr.clone()),
        kinds: vec![Change::RUN_CANCEL_REQUESTED.to_owned()],
        own: true,
        limit: limits::LIST_ROWS_MAX,
        ..EventFilter::default()
    })?;
    // Runs that its tasks started share its correlation.
    let of_run = asked.into_iter().find(|it| it.record.run_id.as_deref() == Some(run.asked.id.as_str()));
    Ok(of_run.and_then(|event| Reason::deserialize(event.record.payload.get("reason")?).ok()))
}

/// The runs that a task's program started and that have not ended.
fn children_of(tx: &Tx<'_>, task: &Task) -> Result<Vec<Run>> {
    let Some(part) = &task.part else { return Ok(Vec::new()) };
    let mut children = tx.unended_children(&part.run_id)?;
    children.retain(|child| child.asked.parent_task.as_ref() == Some(&task.id));
    Ok(children)
}
