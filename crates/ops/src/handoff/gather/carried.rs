//! What a bundle contains besides its rows.

use std::collections::BTreeMap;

use contract::domain::crew::Ended;
use contract::domain::crew::approval::{ApprovalState, Filed};
use contract::domain::crew::budget::Amount;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::task::{Task, TaskId};
use contract::json::json;
use contract::operator::handoff::bundle::{
    CarriedApproval, CarriedAssignment, CarriedLine, CarriedResult, CarriedWorklog, HandoffExtras, RunPart,
};
use store::Tx;

use crate::crew::ledger_state::LedgerState;
use crate::error::Result;

pub(super) fn carried(
    tx: &Tx<'_>,
    state: &LedgerState,
    assignments: Vec<CarriedAssignment>,
) -> Result<HandoffExtras> {
    let asked = &state.run.asked;
    Ok(HandoffExtras {
        x_run: RunPart {
            corr: asked.corr.clone(),
            state: state.run.state,
            version: state.ledger.version,
            fencing: tx.fencing_of_run(&asked.id)?,
            max_parallel: asked.plan.max_parallel,
            document_digest: asked.document_digest.clone(),
            intent: asked.intent.clone(),
        },
        x_assignments: assignments,
        x_results: results(tx, state)?,
        x_worklogs: worklogs(tx, state)?,
        x_applied: tx.applied_deltas(&asked.id)?,
        x_budget: tx.purse(&asked.id)?,
        x_approvals: approvals(tx, state)?,
    })
}

/// The last assignment of each task: it names the worklog, also after it ended.
pub(super) fn assignments(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<CarriedAssignment>> {
    let mut found = Vec::new();
    for (name, task) in &state.tasks {
        let Some(issued) = tx.last_assignment(&task.id)? else { continue };
        let ended = issued.ended.as_deref().map(ended).transpose()?;
        let is_open = ended.is_none();
        found.push(CarriedAssignment {
            task_id: name.clone(),
            token: issued.token,
            packet: issued.packet,
            ended,
            snapshot: issued.snapshot.filter(|_| is_open),
            reserved: if is_open { reserved(tx, task, issued.token)? } else { None },
            token_hash: if is_open { Some(hash(tx, task, issued.token, issued.token_hash)?) } else { None },
        });
    }
    Ok(found)
}

/// The digest of the token that the worker has: another store's, or this one's.
fn hash(tx: &Tx<'_>, task: &Task, token: i64, imported: Option<String>) -> Result<String> {
    match imported {
        Some(hash) => Ok(hash),
        None => Ok(crate::crew::token::proved(tx, &task.id, token)?.hash()),
    }
}

fn reserved(tx: &Tx<'_>, task: &Task, token: i64) -> Result<Option<Amount>> {
    let open = tx.open_reservations(&task.id)?;
    Ok(open.into_iter().find(|reservation| reservation.token == token).map(|reservation| reservation.amount))
}

fn ended(word: &str) -> Result<Ended> {
    serde_json::from_value(json!(word)).map_err(|_| {
        let message = format!("an assignment ended as `{word}`, which is unknown");
        crate::Error::new(contract::domain::code::ErrorCode::Corrupt, message)
    })
}

fn results(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<CarriedResult>> {
    let names: BTreeMap<&TaskId, &TaskRef> =
        state.tasks.iter().map(|(name, task)| (&task.id, name)).collect();
    let found = tx.results_of_run(&state.run.asked.id)?;
    let carried = |found: store::ResultRow| {
        let task_id = (*names.get(&found.task_id)?).clone();
        let (checks, changes) = (found.checks, found.changes);
        Some(CarriedResult { task_id, token: found.token, result: found.result, checks, changes })
    };
    Ok(found.into_iter().filter_map(carried).collect())
}

fn worklogs(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<CarriedWorklog>> {
    let mut found = Vec::new();
    for (name, task) in &state.tasks {
        let lines = tx.worklog(&task.id)?;
        let Some(end) = lines.last().map(|line| line.digest.clone()) else { continue };
        let tokens = tx.worklog_tokens(&task.id)?;
        let lines = lines.into_iter().zip(tokens).map(|(line, token)| CarriedLine { text: line.text, token });
        found.push(CarriedWorklog { task_id: name.clone(), lines: lines.collect(), end });
    }
    Ok(found)
}

fn approvals(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<CarriedApproval>> {
    let mut found = Vec::new();
    for (name, task) in &state.tasks {
        found.extend(approvals_of(tx, name, task)?);
    }
    Ok(found)
}

/// Sorted by content, because ids differ between stores.
fn approvals_of(tx: &Tx<'_>, name: &TaskRef, task: &Task) -> Result<Vec<CarriedApproval>> {
    let carried = |filed: Filed| {
        let is_open = matches!(filed.state, ApprovalState::Pending | ApprovalState::Granted);
        CarriedApproval {
            task_id: name.clone(),
            action: filed.asked.action,
            action_digest: filed.asked.action_digest,
            requested_by: filed.asked.requested_by,
            deadline: filed.asked.deadline,
            state: if is_open { ApprovalState::Pending } else { filed.state },
            decided_by: filed.decided_by.filter(|_| !is_open),
            reason: filed.reason.filter(|_| !is_open),
            used_by: filed.used_by,
        }
    };
    let mut found: Vec<CarriedApproval> = tx.approvals_of_task(&task.id)?.into_iter().map(carried).collect();
    found.sort_by_cached_key(|approval| json!(approval).to_string());
    Ok(found)
}
