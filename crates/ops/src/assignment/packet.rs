//! The packet that a worker gets, made from the row, the plan and the request.

use contract::domain::crew::row::TaskType;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::task::Task;
use contract::operator::SCHEMA_VERSION;
use contract::operator::assignment::ContextItem;
use serde_json::{Value, json};
use store::Tx;

use super::issue::Request;
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;

/// The longest default interval between two heartbeats.
const HEARTBEAT_SECONDS_DEFAULT: u64 = 120;
pub(crate) const HEARTBEAT_SECONDS_MIN: u64 = 5;
/// For a task without a timeout of its own.
const TIMEOUT_SECONDS_DEFAULT: u64 = 1200;

/// The packet, made from the row, the plan and the request.
pub(super) fn packet(tx: &Tx<'_>, state: &LedgerState, name: &TaskRef, request: &Request) -> Result<Value> {
    let (task, row) = (state.task(name)?, state.row(name)?);
    let columns = &row.columns;
    let kind = columns.kind.unwrap_or(TaskType::Parallelizable);
    let (timeout, heartbeat) = times(
        request.timeout_seconds.or(columns.timeout_seconds),
        request.heartbeat_interval_seconds.or(columns.heartbeat_interval_seconds),
    );
    let serial = (kind == TaskType::Serial).then(|| vec![".".to_owned()]);
    let lock_scope = columns.lock_scope.clone().or(serial).unwrap_or_default();
    let title = columns.title.as_deref().unwrap_or(&task.title);
    // Without checks and criteria, the worker's own report completes the task.
    let criteria = columns.acceptance_criteria.clone().filter(|criteria| !criteria.is_empty());
    let criteria = criteria.unwrap_or_else(|| vec![format!("{title} is done")]);
    let given = request.worklog_path.clone();
    let worklog = given.map_or_else(|| crate::worklog::default_path(tx, state, name), Ok)?;
    Ok(json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": state.run_uuid()?,
        "packet_type": "assignment",
        "global_objective": state.run.asked.objective,
        "task": {
            "task_id": name,
            "title": title,
            "type": kind,
            "dependencies": row.dependencies(),
            "lock_scope": lock_scope,
            "forbidden_scope": request.forbidden_scope,
            "acceptance_criteria": criteria,
            "worklog_path": worklog,
            "timeout_seconds": timeout,
            "heartbeat_interval_seconds": heartbeat,
            "priority": columns.priority.unwrap_or_default(),
        },
        "active_locks": [],
        "context_package": context(task, request)?,
        "required_output_schema": "subagent_result_v1",
    }))
}

/// The timeout and the heartbeat interval, with their defaults.
pub(crate) fn times(timeout: Option<u64>, heartbeat: Option<u64>) -> (u64, u64) {
    let timeout = timeout.unwrap_or(TIMEOUT_SECONDS_DEFAULT);
    let usual = (timeout / 4).clamp(HEARTBEAT_SECONDS_MIN, HEARTBEAT_SECONDS_DEFAULT);
    (timeout, heartbeat.unwrap_or(usual))
}

/// The worker's context: the caller's items, then the plan's prompt and the files that the task reads.
fn context(task: &Task, request: &Request) -> Result<Vec<Value>> {
    let mut items = request.context_package.clone();
    for item in &items {
        serde_json::from_value::<ContextItem>(item.clone()).map_err(|error| {
            deny(contract::operator::Code::SchemaInvalid, "item_field", format!("a context item: {error}"))
        })?;
    }
    if let Some(part) = &task.part {
        items.extend(part.spec.prompt.iter().map(|prompt| json!({"kind": "note", "value": prompt})));
        items.extend(part.spec.reads.iter().map(|path| json!({"kind": "file", "value": path})));
    }
    Ok(items)
}
