//! The first row of a plan's task.

use std::collections::BTreeMap;

use contract::domain::crew::row::{CrewColumns, CrewRow, TaskType};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::task::{Task, TaskId};

/// The row of a task that no delta has changed yet.
pub(super) fn planned(task: &Task, names: &BTreeMap<TaskId, TaskRef>) -> CrewRow {
    const TIMEOUT_SECONDS_MIN: u64 = 30;
    let spec = task.part.as_ref().map(|part| &part.spec);
    let criteria: Vec<String> =
        spec.map(|spec| spec.checks.iter().map(super::conditions::criterion).collect()).unwrap_or_default();
    let scopes: Vec<String> =
        spec.map(|spec| spec.writes.iter().map(ToString::to_string).collect()).unwrap_or_default();
    let timeout = spec.map(|spec| spec.timeout_ms.div_ceil(1000).max(TIMEOUT_SECONDS_MIN));
    CrewRow {
        status: task.status,
        owner: task.claim.as_ref().map(|claim| claim.agent.clone()).unwrap_or_default(),
        reason: super::printed(task).unwrap_or_default(),
        version: 0,
        retry_count: 0,
        last_heartbeat_at: None,
        timed_out: None,
        retry_after_ms: None,
        x_retry_at: None,
        x_from_packet: Vec::new(),
        x_accepted: None,
        columns: CrewColumns {
            title: Some(task.title.clone()),
            kind: Some(TaskType::Parallelizable),
            dependencies: Some(task.depends_on.iter().filter_map(|id| names.get(id).cloned()).collect()),
            lock_scope: Some(scopes).filter(|scopes| !scopes.is_empty()),
            timeout_seconds: timeout,
            heartbeat_interval_seconds: None,
            priority: spec.map(|spec| spec.priority),
            acceptance_criteria: Some(criteria).filter(|criteria| !criteria.is_empty()),
        },
    }
}
