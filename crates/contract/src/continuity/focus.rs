//! Which task an agent that resumes should look at. Deterministic: the same state gives the same task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::request::Agent;
use crate::domain::status::Status;
use crate::domain::task::Task;
use crate::domain::time::Now;

/// Why a task was chosen, in the order in which the rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FocusRule {
    /// The caller named it.
    Asked,
    /// The agent is working on it.
    InProgress,
    /// The agent's task waits for others and will continue.
    Waiting,
    /// It was assigned since the agent last looked.
    Assigned,
    /// The agent looked at it before, and it has not been started.
    Kept,
    /// Another agent started it and is gone.
    Left,
    /// The first of what is ready.
    Next,
    /// There is nothing to do.
    None,
}

/// Whether a task is the agent's to work on: of its project, and not claimed by another agent.
pub fn is_open_to(task: &Task, agent: &Agent, project: Option<&str>, now: &Now) -> bool {
    let of_project = project.is_none() || task.project_id.as_deref() == project;
    let held = task.live_claim(now).is_some_and(|claim| claim.agent != agent.as_str());
    // The tasks of a run are its engine's.
    of_project && !held && task.part.is_none()
}

/// Whether an agent stays with the task it looked at last.
pub fn keeps(current: &Task, open_dependencies: i64) -> Option<FocusRule> {
    let failed = current.blocked_reason.as_deref().is_some_and(|reason| reason.starts_with("failure:"));
    match current.status {
        Status::InProgress => Some(FocusRule::InProgress),
        Status::Blocked if open_dependencies > 0 && !failed => Some(FocusRule::Waiting),
        Status::Todo if open_dependencies == 0 => Some(FocusRule::Kept),
        Status::Todo | Status::Blocked | Status::Done | Status::Failed | Status::Canceled => None,
    }
}
