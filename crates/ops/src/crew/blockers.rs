//! Blockers: why tasks are blocked.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::task::Task;
use contract::operator::Blocker;

use crate::error::Result;
use crate::record::EventWriter;

/// Records why a task is blocked, or that it no longer is.
pub(crate) fn settle_blocker(
    work: &mut EventWriter<'_, '_>,
    task: &Task,
    blocker: Option<&Blocker>,
) -> Result<()> {
    let Some(part) = &task.part else { return Ok(()) };
    let known = work.tx.blocker_of_task(&task.id)?;
    let (run_id, task_id) = (part.run_id.clone(), task.id.clone());
    let (change, message) = match (known, blocker) {
        (Some(_), None) => (CrewChange::BlockerCleared { run_id, task_id }, "No longer blocked".to_owned()),
        (known, Some(blocker)) if known.as_ref() != Some(blocker) => {
            let message = format!("Blocked: {} {}", blocker.code, blocker.reason);
            (CrewChange::BlockerRaised { run_id, task_id, blocker: blocker.clone().into() }, message)
        }
        (None | Some(_), _) => return Ok(()),
    };
    let about = crate::task::about(work.tx, task)?;
    work.change(&about, &message, &Change::Crew(change))?;
    Ok(())
}
