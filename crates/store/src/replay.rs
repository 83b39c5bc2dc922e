//! Rebuilds the tables from the log, to prove that the log is complete.

use contract::domain::change::Change;
use contract::domain::time::Timestamp;
use rusqlite::types::ValueRef;

use crate::Store;
use crate::error::{Error, Result};
use crate::events::EventFilter;

/// The columns that a replay must reproduce. Leases and heartbeats are not events and are left out.
const TABLES: &[(&str, &str)] = &[
    (
        "tasks",
        "id, title, description, status, evidence, priority, project_id, blocked_reason, version, claim_agent, \
         claim_token, claim_since, run_id, number, name, spec, checks, pinned, open_dependencies, \
         created_at, updated_at",
    ),
    ("task_dependencies", "task_id, depends_on"),
    (
        "runs",
        "id, corr, state, asked, workspace, owner, cancel_requested, result, created_at, ended_at, session_id",
    ),
    ("attempts", "id, task_id, run_id, number, state, begun, started_at, ended_at, outcome, rollback"),
    ("agents", "name, focus_task_id, focus_project_id, last_active_at"),
    ("projects", "id, name, metadata, created_at"),
    ("trusted_projects", "directory, digest, commands, trusted_by, trusted_at, basis"),
    ("access_tokens", "id, name, scope, hash, created_by, created_at, expires_at, last_used_at, revoked_at"),
    (
        "memories",
        "id, scope, scope_id, key, value, value_type, kind, half_life_days, pinned, expires_at, source_task_id, \
         source_event_id, created_at, updated_at",
    ),
    ("artifacts", "id, number, task_id, event_id, project_id, file_path, content_type, created_at"),
    // A tally of 0 and a missing tally are the same.
    ("task_tallies WHERE tasks <> 0", "project_id, status, tasks"),
    ("ledgers", "run_id, version"),
    ("ledger_rows", "task_id, run_id, reference, row"),
    ("ledger_deltas", "run_id, delta_id, digest"),
    (
        "locks",
        "token, scope, run_id, task_id, reference, workspace, place, folded, mode, active, timeout_ms, granted_at, \
         released_at, release_reason",
    ),
    ("assignments", "token, run_id, task_id, packet, token_hash, snapshot, ended, issued_at, ended_at"),
    ("results", "token, run_id, task_id, status, result, checks, changes, accepted_at"),
    ("blockers", "task_id, run_id, blocker, raised_at"),
    (
        "budgets",
        "run_id, cost_limit, tokens_limit, cost_reserved, tokens_reserved, cost_spent, tokens_spent, cost_withheld, \
         tokens_withheld",
    ),
    (
        "reservations",
        "token, run_id, task_id, cost, tokens, is_open, cost_spent, tokens_spent, cost_withheld, tokens_withheld",
    ),
    ("approvals", "id, run_id, task_id, state, asked, decided_by, reason, used_by, requested_at"),
    ("worklog_lines", "task_id, number, run_id, token, line, digest, bytes, appended_at"),
    ("handoffs", "run_id, digest, fencing, taken_at, constraints"),
    ("epoch", "id, number, is_halted, reason, decided_by, decided_at"),
    ("programs", "process, command, started_at"),
    ("limit_windows", "resource, until, limit_window"),
    ("limit_waiters", "task_id, resource, since"),
];

const PAGE: usize = 1000;

impl Store {
    /// An in-memory store whose tables were rebuilt from this store's events alone.
    pub fn rebuilt(&mut self) -> Result<Store> {
        let mut copy = Store::in_memory()?;
        let source = self.read()?;
        let target = copy.begin()?;
        let mut after_id = 0;
        loop {
            let filter = EventFilter { after_id, oldest_first: true, limit: PAGE, ..EventFilter::default() };
            let events = source.events(&filter)?;
            let Some(last) = events.last() else { break };
            after_id = last.id;
            // Events without a change, such as the records of layers, touch no table.
            for event in events.into_iter().filter(|event| event.record.is_change) {
                let change: Change = serde_json::from_value(event.record.payload).map_err(|error| {
                    Error::Corrupt(format!("event {} has an unknown change: {error}", event.id))
                })?;
                let projected = target.project(&change, Timestamp::from_millis(event.record.at), event.id);
                projected.map_err(|error| unfit(event.id, error))?;
            }
        }
        target.commit()?;
        Ok(copy)
    }

    /// Every row of every table that a replay rebuilds, as text in a fixed order.
    pub fn rows(&mut self) -> Result<Vec<String>> {
        let tx = self.read()?;
        let mut rows = Vec::new();
        for (table, columns) in TABLES {
            let mut statement = tx.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1, 2"))?;
            let width = statement.column_count();
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                let values: rusqlite::Result<Vec<String>> =
                    (0..width).map(|i| row.get_ref(i).map(shown)).collect();
                rows.push(format!("{table}: {}", values?.join(" ")));
            }
        }
        Ok(rows)
    }
}

/// A change that does not fit what the events before it made is not one that writ wrote there.
fn unfit(event: i64, error: Error) -> Error {
    match error {
        Error::Sql(_) | Error::Unfit { .. } => {
            Error::Corrupt(format!("event {event} cannot be applied: {error}"))
        }
        other => other,
    }
}

/// A readable form of a value. Different values have different forms.
pub(crate) fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("{bytes:?}"),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => format!("{value:?}"),
    }
}
