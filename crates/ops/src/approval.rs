//! Approvals: a task that needs one can be assigned only after it was granted, once, in time, and unchanged.

pub mod decide;
pub mod list;
pub mod request;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{ApprovalId, ApprovalState, Filed, NotApproved};
use contract::domain::limits;
use contract::domain::time::Now;
use store::Tx;

use crate::error::{Error, Result};
use crate::record::EventWriter;

/// Whether the deadline of an open approval has passed.
pub(crate) fn has_expired(tx: &Tx<'_>, now: &Now) -> Result<bool> {
    for state in [ApprovalState::Pending, ApprovalState::Granted] {
        if tx.approvals_in(state, limits::LIST_ROWS_MAX)?.iter().any(|filed| filed.has_expired(now)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Denies expired approvals.
pub(crate) fn deny_expired(work: &mut EventWriter<'_, '_>) -> Result<Vec<String>> {
    let mut denied = Vec::new();
    for state in [ApprovalState::Pending, ApprovalState::Granted] {
        for filed in work.tx.approvals_in(state, limits::LIST_ROWS_MAX)? {
            if !filed.has_expired(work.now) {
                continue;
            }
            let task = crate::task::required(work.tx, filed.asked.task_id.as_str())?;
            let change = CrewChange::ApprovalDecided {
                id: filed.asked.id.clone(),
                run_id: filed.asked.run_id.clone(),
                task_id: filed.asked.task_id.clone(),
                granted: false,
                by: work.caller.entity.clone(),
                reason: Some(NotApproved::Expired.to_string()),
            };
            let about = crate::task::about(work.tx, &task)?;
            work.change(&about, &format!("Approval expired: {}", filed.asked.action), &Change::Crew(change))?;
            denied.push(filed.asked.id.to_string());
        }
    }
    Ok(denied)
}

fn filed(work: &EventWriter<'_, '_>, id: &ApprovalId) -> Result<Filed> {
    work.tx.approval(id)?.ok_or_else(|| Error::not_found("approval", id.as_str()))
}
