//! The end of a run that no engine works.

use contract::domain::change::Change;
use contract::domain::run::{Run, RunId, RunState};
use contract::domain::status::Status;
use serde_json::{Value, json};

use crate::error::Result;
use crate::record::EventWriter;
use crate::run::task_line::task_line;

/// The result of a run that ended without an engine, in the form that engines write.
pub(super) fn result(work: &mut EventWriter<'_, '_>, run: &Run, reason: &str) -> Result<Value> {
    let mut tasks = Vec::new();
    for task in work.tx.tasks_of_run(&run.asked.id)? {
        tasks.push(task_line(&task, &work.tx.attempts_of_task(&task.id)?));
    }
    Ok(json!({
        "run_id": run.asked.id,
        "corr": run.asked.corr,
        "objective": run.asked.objective,
        "state": RunState::Canceled,
        "final_signal": "ABORTED",
        "reason": reason,
        "answer": null,
        "tasks": tasks,
    }))
}

/// Ends a run that waited for a person, after its last waiting task.
pub(super) fn end_stopped(work: &mut EventWriter<'_, '_>, id: &RunId) -> Result<()> {
    let run = crate::run::required(work.tx, id)?;
    let tasks = work.tx.tasks_of_run(id)?;
    // An engine that died may have left one; the next engine decides about it.
    let is_open = !work.tx.open_attempts(id)?.is_empty();
    if is_open || run.state != RunState::Stopped || !tasks.iter().all(|task| task.status.is_terminal()) {
        return Ok(());
    }
    let count = |status: Status| tasks.iter().filter(|task| task.status == status).count();
    let (done, failed, canceled) = (count(Status::Done), count(Status::Failed), count(Status::Canceled));
    let reason = format!("{done} of {} tasks done, {failed} failed, {canceled} canceled", tasks.len());
    let mut result = result(work, &run, &reason)?;
    result["state"] = json!(RunState::Failed);
    result["final_signal"] = json!(if done > 0 { "PARTIAL_SUCCESS" } else { "FAILURE" });
    let moved =
        Change::RunMoved { run_id: id.clone(), from: run.state, to: RunState::Failed, result: Some(result) };
    work.change(&crate::run::about(&run), "Run failed", &moved)?;
    Ok(())
}
