//! Chooses the task that an agent gets when it resumes. Deterministic: the same state gives the same task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reason;
use crate::domain::request::Agent;
use crate::domain::status::Status;
use crate::domain::task::Task;
use crate::domain::time::Now;

/// The rule by which a task was chosen, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FocusRule {
    /// The caller named it.
    Asked,
    /// The agent is working on it.
    InProgress,
    /// The agent's task waits for others and will continue.
    Waiting,
    /// It was assigned since the agent's last call.
    Assigned,
    /// The agent focused on it before, and it has not been started.
    Kept,
    /// Another agent started it, and its claim has ended.
    Left,
    /// The first ready task.
    Next,
    /// There is nothing to do.
    None,
}

/// Whether the agent may work on a task: it is in its project and not claimed by another agent.
pub fn is_open_to(task: &Task, agent: &Agent, project: Option<&str>, now: &Now) -> bool {
    let of_project = project.is_none() || task.project_id.as_deref() == project;
    let held = task.live_claim(now).is_some_and(|claim| claim.agent != agent.as_str());
    // The engine of a run owns the run's tasks.
    of_project && !held && task.part.is_none()
}

/// Whether an agent keeps its last focus.
pub fn keeps(current: &Task, open_dependencies: i64) -> Option<FocusRule> {
    let marked = current.blocked_reason.as_ref().and_then(|reason| reason::marked(&reason.text));
    let failed = marked == Some(Status::Failed);
    match current.status {
        Status::InProgress => Some(FocusRule::InProgress),
        Status::Blocked if open_dependencies > 0 && !failed => Some(FocusRule::Waiting),
        Status::Todo if open_dependencies == 0 => Some(FocusRule::Kept),
        Status::Todo | Status::Blocked | Status::Done | Status::Failed | Status::Canceled => None,
    }
}
