//! Makes the bundle of a run from the store. The same state gives the same bundle.

mod carried;

use contract::domain::crew::budget::Amount;
use contract::domain::crew::lock::HeldLock;
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::plan::PlanTask;
use contract::json::{Map, Value, json};
use contract::operator::handoff::bundle::{CarriedAssignment, CarriedRow, HandoffBundle};
use contract::operator::handoff::{AcceptanceTarget, Dependency, Handoff, HandoffRow};
use contract::operator::{Code, Lock, RunId, SCHEMA_VERSION};
use store::Tx;

use crate::assignment::packet::times;
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use carried::{assignments, carried};

pub(super) fn gather(tx: &Tx<'_>, state: &LedgerState) -> Result<HandoffBundle> {
    let run_id = RunId::parse(&state.run_uuid()?)
        .ok_or_else(|| deny(Code::SchemaInvalid, "run_id", "run_id must be a UUID"))?;
    let assignments = assignments(tx, state)?;
    let ledger: Vec<HandoffRow> =
        state.ledger.rows.iter().map(|(name, row)| shown(state, name, row, &assignments)).collect();
    let handoff = Handoff {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id,
        generated_at: None,
        objective: state.run.asked.objective.clone(),
        constraints: constraints(tx, state)?,
        active_locks: locks(tx, state)?,
        dependencies: dependencies(&ledger),
        open_blockers: blockers(tx, state)?,
        acceptance_targets: targets(state),
        ledger,
        extra: Map::new(),
    };
    let mut rows = Vec::new();
    for (name, row) in &state.ledger.rows {
        rows.push(carried_row(tx, state, name, row)?);
    }
    Ok(HandoffBundle { handoff, rows, carried: carried(tx, state, assignments)? })
}

/// The constraints that the run was imported with, or writ's own.
fn constraints(tx: &Tx<'_>, state: &LedgerState) -> Result<Value> {
    let imported = tx.handoff_of_run(&state.run.asked.id)?.and_then(|(_, constraints)| constraints);
    Ok(imported.unwrap_or_else(|| own_constraints(state.run.asked.plan.max_parallel)))
}

pub(super) fn own_constraints(max_parallel: usize) -> Value {
    json!({ "max_parallel": max_parallel })
}

/// The row as the contract has it. The open assignment counts before the plan.
fn shown(state: &LedgerState, name: &TaskRef, row: &CrewRow, given: &[CarriedAssignment]) -> HandoffRow {
    let columns = &row.columns;
    let open = given.iter().find(|one| one.task_id == *name && one.ended.is_none());
    let asked = |field: &str| open.and_then(|open| open.packet["task"][field].as_u64());
    let (timeout_seconds, heartbeat_interval_seconds) = times(
        asked("timeout_seconds").or(columns.timeout_seconds),
        asked("heartbeat_interval_seconds").or(columns.heartbeat_interval_seconds),
    );
    let title = columns.title.clone().or_else(|| state.tasks.get(name).map(|task| task.title.clone()));
    HandoffRow {
        task_id: name.clone(),
        title: title.unwrap_or_else(|| name.to_string()),
        status: row.status,
        owner: row.owner.clone(),
        lock_scope: columns.lock_scope.clone().unwrap_or_default(),
        timeout_seconds,
        heartbeat_interval_seconds,
        priority: columns.priority.unwrap_or_default(),
        last_heartbeat_at: state.last_heartbeat(name).map(|at| at.to_string()),
        dependencies: Some(row.dependencies().to_vec()),
        extra: Map::new(),
    }
}

fn carried_row(tx: &Tx<'_>, state: &LedgerState, name: &TaskRef, row: &CrewRow) -> Result<CarriedRow> {
    let task = &state.tasks[name];
    let spec = task.part.as_ref().map(|part| part.spec.clone());
    let withheld = tx.withheld_reservations(&task.id)?.into_iter();
    let own = withheld.filter(|withheld| withheld.run_id == state.run.asked.id);
    Ok(CarriedRow {
        x_row: row.clone(),
        x_spec: spec.unwrap_or_else(|| PlanTask::minimal(name.as_str())),
        x_evidence: task.evidence,
        x_priority: task.priority,
        x_withheld: own.fold(Amount::default(), |sum, withheld| sum.plus(withheld.amount)),
        x_pinned: task.pinned.clone(),
        x_only_claimed: task.withheld(),
    })
}

fn locks(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<Lock>> {
    let mut held = tx.active_locks_of_run(&state.run.asked.id)?;
    held.sort_by(|a, b| (a.token, &a.scope).cmp(&(b.token, &b.scope)));
    Ok(held.iter().map(lock).collect())
}

fn lock(held: &HeldLock) -> Lock {
    Lock {
        task_id: held.reference.clone(),
        resource: held.scope.to_string(),
        active: true,
        x_mode: Some(held.mode),
        x_fencing_token: u64::try_from(held.token).ok(),
        extra: Map::from_iter([("x_timeout_ms".to_owned(), json!(held.timeout_ms))]),
    }
}

fn dependencies(ledger: &[HandoffRow]) -> Vec<Dependency> {
    let of = |row: &HandoffRow| -> Vec<Dependency> {
        let needed = row.dependencies.iter().flatten();
        let task_id = &row.task_id;
        let one = |needed: &TaskRef| Dependency {
            task_id: task_id.clone(),
            depends_on_task_id: needed.clone(),
            extra: Map::new(),
        };
        needed.map(one).collect()
    };
    ledger.iter().flat_map(of).collect()
}

fn blockers(tx: &Tx<'_>, state: &LedgerState) -> Result<Vec<contract::operator::Blocker>> {
    let found = tx.blockers_of_run(&state.run.asked.id)?;
    let mut blockers: Vec<_> = found.into_iter().map(|(_, blocker)| blocker).collect();
    blockers.sort_by(|a, b| a.task_id.cmp(&b.task_id));
    Ok(blockers)
}

fn targets(state: &LedgerState) -> Vec<AcceptanceTarget> {
    let target = |(name, row): (&TaskRef, &CrewRow)| {
        let criteria = row.columns.acceptance_criteria.clone()?;
        Some(AcceptanceTarget { task_id: name.clone(), criteria, extra: Map::new() })
    };
    state.ledger.rows.iter().filter_map(target).collect()
}

/// The bytes of a bundle: one field per line, so that people can compare two bundles.
pub(super) fn print(document: &Value) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("BUG: a JSON value has a text");
    text.push('\n');
    text
}
