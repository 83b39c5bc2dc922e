//! Checks a ledger against its locks, heartbeats, blockers and results.

use std::collections::BTreeMap;

use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::Now;
use contract::operator::{Options, validate_reconcile};
use contract::verdict::Verdict;
use serde_json::{Value, json};
use store::Tx;

use super::ledger_state::LedgerState;
use crate::error::Result;

impl LedgerState {
    /// Whether the ledger agrees with its locks, blockers and results at `now`.
    pub(crate) fn reconcile(&self, tx: &Tx<'_>, now: &Now, fold: bool) -> Result<Verdict> {
        let run_id = &self.run.asked.id;
        let mut ledger = Vec::new();
        for (name, row) in &self.ledger.rows {
            ledger.push(self.judged(tx, name, row, now)?);
        }
        let locks = tx.active_locks_of_run(run_id)?;
        let locks: Vec<Value> = locks
            .iter()
            .map(|lock| json!({"task_id": lock.reference, "resource": lock.scope, "active": true, "x_mode": lock.mode}))
            .collect();
        let blockers: Vec<Value> =
            tx.blockers_of_run(run_id)?.into_iter().map(|(_, blocker)| json!(blocker)).collect();
        let results = tx.results_of_run(run_id)?;
        let names: BTreeMap<&TaskId, &TaskRef> =
            self.tasks.iter().map(|(reference, task)| (&task.id, reference)).collect();
        let submitted =
            results.iter().map(|found| json!({"task_id": names.get(&found.task_id), "status": found.status}));
        let accepted = self.ledger.rows.iter().filter(|(_, row)| row.x_accepted.is_some());
        let accepted = accepted.map(|(name, _)| json!({"task_id": name, "status": Status::Done}));
        let results: Vec<Value> = submitted.chain(accepted).collect();
        let document = json!({
            "ledger": ledger, "active_locks": locks, "blockers": blockers, "results": results, "now": now.at,
        });
        let options = Options { fold, ..Options::default() };
        Ok(validate_reconcile(document.to_string().as_bytes(), &options))
    }

    fn judged(&self, tx: &Tx<'_>, reference: &TaskRef, row: &CrewRow, now: &Now) -> Result<Value> {
        Ok(json!({
            "task_id": reference,
            "status": row.status,
            "owner": row.owner,
            "dependencies": row.dependencies(),
            "lock_scope": row.columns.lock_scope,
            "timed_out": row.timed_out.unwrap_or(false),
            "last_heartbeat_at": self.judged_heartbeat(reference, now),
            "timeout_seconds": self.given_timeout(tx, reference)?.or(row.columns.timeout_seconds),
        }))
    }

    /// The timeout of the open assignment; `None` if there is none.
    fn given_timeout(&self, tx: &Tx<'_>, reference: &TaskRef) -> Result<Option<u64>> {
        let Some(task) = self.tasks.get(reference).filter(|task| task.status == Status::InProgress) else {
            return Ok(None);
        };
        let open = tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none());
        Ok(open.and_then(|open| open.packet["task"]["timeout_seconds"].as_u64()))
    }
}
