//! The task behind a ledger row that came without a plan.

use crate::domain::crew::row::CrewColumns;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::plan::PlanTask;
use crate::domain::scope::{Scope, ScopeFault};

/// What the row's columns say, as a task of a plan. A worker does it, so it has no command.
pub fn spec_of(reference: &TaskRef, columns: &CrewColumns, workspace: &str) -> Result<PlanTask, ScopeFault> {
    let mut spec = PlanTask::minimal(reference.as_str());
    spec.command = Vec::new();
    spec.title = columns.title.clone().unwrap_or_else(|| reference.to_string());
    spec.priority = columns.priority.unwrap_or_default();
    spec.timeout_ms = columns.timeout_seconds.map_or(spec.timeout_ms, |s| s.saturating_mul(1000));
    for text in columns.lock_scope.iter().flatten() {
        spec.writes.push(Scope::parse(text, Some(workspace))?);
    }
    spec.depends_on = columns.dependencies.iter().flatten().map(ToString::to_string).collect();
    Ok(spec)
}
