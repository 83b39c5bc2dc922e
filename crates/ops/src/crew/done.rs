//! A delta to `done` follows the same rule as a result.

use std::collections::BTreeMap;

use contract::domain::check::Check;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::domain::status::Status;
use contract::operator::ledger::DoneEvidence;
use contract::operator::{Delta, DeltaOptions, OrchestratorOutput};
use serde_json::json;

use super::conditions::criterion;
use super::denial::{denied, verdict};
use super::ledger_state::LedgerState;
use crate::checking::CheckResults;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::record::{EventWriter, scrubbed};

/// What writ saw when it ran the checks of tasks that deltas call done.
pub(crate) type ChecksSeen = BTreeMap<TaskRef, CheckResults>;

/// Runs the checks of every task that the document makes done. Nothing is run for a document that was answered before,
/// or that is refused anyway.
pub(crate) fn observe(
    cx: &mut Context,
    session: &Session,
    envelope: &OrchestratorOutput,
    options: DeltaOptions,
) -> Result<ChecksSeen> {
    let mut seen = ChecksSeen::new();
    let says_done = envelope.ledger_delta.iter().any(|delta| delta.status == Status::Done);
    if !says_done || cx.was_answered(session)? {
        return Ok(seen);
    }
    let run_id: Option<RunId> = Id::from_uuid(envelope.run_id.as_str());
    let tx = cx.store.read()?;
    let Some(run) = run_id.map(|id| tx.run(&id)).transpose()?.flatten() else { return Ok(seen) };
    let state = LedgerState::load(&tx, run)?.of_a_crew()?;
    let tried = state.ledger.clone().apply(&envelope.ledger_delta, options);
    let mut tasks = Vec::new();
    for delta in envelope.ledger_delta.iter().filter(|delta| delta.status == Status::Done) {
        let is_known = tx.applied_delta(&state.run.asked.id, &delta.delta_id)?.is_some();
        let task = state.tasks.get(&delta.task_id).filter(|task| task.has_checks());
        if let Some(task) = task.filter(|_| !is_known && !state.is_done(&delta.task_id)) {
            tasks.push((delta.task_id.clone(), task.clone()));
        }
    }
    drop(tx);
    if tasks.is_empty() {
        return Ok(seen);
    }
    tried.map_err(|refusal| denied(&refusal))?;
    for (name, task) in tasks {
        let checks = crate::checking::run_checks(cx, &task)?;
        seen.insert(name, checks);
    }
    Ok(seen)
}

/// Accepts a delta that makes its task done, and notes in the row what that is based on. Returns whether writ verified
/// it, and why the evidence is withheld. `state` has the row as the delta left it.
pub(crate) fn accept(
    work: &EventWriter<'_, '_>,
    state: &mut LedgerState,
    (index, delta): (usize, &Delta),
    checks: &ChecksSeen,
) -> Result<(bool, Option<String>)> {
    let name = &delta.task_id;
    let checked_now = checks.get(name);
    let seen = checked_now.map(|checked| checked.seen.as_slice()).unwrap_or_default();
    let task = state.tasks.get(name);
    let verified = task.is_some_and(|task| crate::checking::all_passed(task, seen));
    let spec = task.and_then(|task| task.part.as_ref()).map(|part| &part.spec);
    let checked: Vec<String> = spec
        .map(|spec| spec.checks.iter().map(|check: &Check| criterion(check)).collect())
        .unwrap_or_default();
    let by = work.caller.entity.clone();
    let evidence = DoneEvidence { by: &by, checks: seen, checked: &checked };
    let Some(row) = state.ledger.rows.get_mut(name) else { return Ok((false, None)) };
    match delta.accept(row, evidence) {
        Ok(accepted) => {
            row.x_accepted = Some(accepted);
            Ok((verified, checked_now.and_then(|checked| checked.withheld.clone())))
        }
        Err(fault) => {
            let message = format!("$.ledger_delta[{index}]: {name} is not done: {fault}");
            let mut refusal = verdict(fault.code(), fault.rule(), message);
            refusal.details.more.insert("index".to_owned(), json!(index));
            refusal.details.more.insert("task_id".to_owned(), json!(name));
            if !seen.is_empty() {
                refusal.details.more.insert("checks".to_owned(), scrubbed(json!(seen)));
            }
            Err(denied(&refusal).hint(
                "submit the worker's result with `writ result submit`, or show each criterion in the delta's \
                 x_acceptance_check",
            ))
        }
    }
}
