//! What the crew's verbs share: the state of a ledger, writing its rows, and granting locks.

pub(crate) mod admission;
pub(crate) mod blockers;
pub(crate) mod conditions;
pub(crate) mod conflict;
mod cycles;
pub(crate) mod denial;
pub mod document;
pub(crate) mod done;
pub(crate) mod grants;
pub(crate) mod ledger_state;
pub(crate) mod loans;
pub(crate) mod lock_claims;
pub mod meanwhile;
mod owner;
pub(crate) mod packet;
pub mod paths;
mod planned;
pub(crate) mod ready;
mod reconciling;
pub(crate) mod rows;
pub(crate) mod token;

pub use admission::Obstacle;
pub use conflict::LockConflict;
pub use lock_claims::LockDifference;

use contract::domain::change::Change;
use contract::domain::crew::budget::Spent;
use contract::domain::crew::{CrewChange, Ended};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::{Blocker, Code};

use crate::error::Result;
use crate::record::EventWriter;
use blockers::settle_blocker;

/// The task's reason, as operator documents have it.
fn printed(task: &Task) -> Option<String> {
    task.blocked_reason.as_ref().map(ToString::to_string)
}

/// Updates the ledger after another verb moved a task: its row gets a new version, and its locks are released.
pub(crate) fn follow(work: &mut EventWriter<'_, '_>, task: &Task) -> Result<()> {
    // A task that an engine executes keeps its locks until the child process has ended.
    if !matches!(task.status, Status::Todo | Status::InProgress) && !work.tx.has_open_attempt(&task.id)? {
        grants::let_go(work, task, Ended::Withdrawn, Spent::default())?;
    }
    let Some(known) = work.tx.ledger_row(&task.id)? else { return Ok(()) };
    let Some(part) = &task.part else { return Ok(()) };
    let mut row = known.row;
    if row.status == task.status {
        return Ok(());
    }
    if task.status == Status::Blocked {
        row.retry_count = row.retry_count.saturating_add(1);
    }
    row.status = task.status;
    row.version = row.version.saturating_add(1);
    row.reason = printed(task).unwrap_or_default();
    let ledger_version = work.tx.ledger_version(&part.run_id)?.saturating_add(1);
    let written = CrewChange::RowWritten {
        run_id: part.run_id.clone(),
        task_id: task.id.clone(),
        reference: known.reference.clone(),
        ledger_version,
        delta: None,
        row: Box::new(row),
    };
    let about = crate::task::about(work.tx, task)?;
    work.change(&about, &format!("{} is {}", known.reference, task.status), &Change::Crew(written))?;
    let blocker = (task.status == Status::Blocked).then(|| Blocker {
        task_id: known.reference,
        code: Code::MissingRequiredInput,
        reason: printed(task).unwrap_or_else(|| "blocked by its worker".to_owned()),
        details: None,
        extra: contract::json::Map::new(),
    });
    settle_blocker(work, task, blocker.as_ref())
}
