//! Shows a ledger, and reconciles it.

use contract::verdict::Verdict;
use serde_json::{Value, json};

use crate::context::Context;
use crate::crew::sheet::Sheet;
use crate::error::Result;

/// Everything the operator contract knows of a run.
pub fn show(cx: &mut Context, run: &str) -> Result<Value> {
    let tx = cx.store.read()?;
    let sheet = Sheet::of(&tx, run)?;
    let rows: Vec<Value> = sheet.ledger.rows.keys().map(|reference| sheet.view(reference)).collect();
    let blockers: Vec<Value> =
        tx.blockers_of_run(&sheet.run.asked.id)?.into_iter().map(|(_, blocker)| json!(blocker)).collect();
    let locks: Vec<Value> = tx
        .active_locks_of_run(&sheet.run.asked.id)?
        .iter()
        .map(|lock| {
            json!({"task_id": lock.reference, "resource": lock.scope, "active": true, "x_mode": lock.mode,
                   "x_fencing_token": lock.token})
        })
        .collect();
    Ok(json!({
        "schema_version": contract::operator::SCHEMA_VERSION,
        "run_id": sheet.run_uuid()?,
        "x_run": sheet.run.asked.id,
        "objective": sheet.run.asked.objective,
        "workspace": sheet.run.asked.workspace,
        "version": sheet.ledger.version,
        "ledger": rows,
        "active_locks": locks,
        "open_blockers": blockers,
        "x_untrusted": contract::operator::untrusted(&[
            "$.objective", "$.ledger[*].title", "$.ledger[*].reason", "$.ledger[*].acceptance_criteria[*]",
            "$.open_blockers[*].reason", "$.open_blockers[*].details",
        ]),
    }))
}

/// Whether the ledger agrees with its locks, heartbeats, blockers and results now.
pub fn reconcile(cx: &mut Context, run: &str) -> Result<Verdict> {
    let now = cx.clock.now();
    cx.read_viewing(|tx, view| {
        let sheet = Sheet::of(tx, run)?;
        let fold = view.folds_case(&sheet.run.asked.workspace)?;
        sheet.reconcile(tx, &now, fold)
    })
}
