//! Every change of durable state. The log holds these; replaying them rebuilds the tables.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attempt::{AttemptId, AttemptState, NewAttempt, Outcome};
use super::run::{NewRun, Owner, RunId, RunState};
use super::status::{Evidence, Status};
use super::task::{Claim, PlanPart, TaskId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    TaskCreated {
        task_id: TaskId,
        title: String,
        description: String,
        priority: i64,
        project_id: Option<String>,
        part: Option<PlanPart>,
        depends_on: Vec<TaskId>,
    },
    TaskMoved {
        task_id: TaskId,
        from: Status,
        to: Status,
        evidence: Option<Evidence>,
        reason: Option<String>,
    },
    TaskClaimed {
        task_id: TaskId,
        claim: Claim,
    },
    TaskReleased {
        task_id: TaskId,
    },
    AgentFocused {
        agent: String,
        task_id: TaskId,
        project_id: Option<String>,
    },
    RunSubmitted {
        run: NewRun,
    },
    /// An engine took the run. Renewals of its lease are no events.
    RunOwned {
        run_id: RunId,
        owner: Owner,
    },
    RunCancelRequested {
        run_id: RunId,
        reason: Option<String>,
    },
    RunMoved {
        run_id: RunId,
        from: RunState,
        to: RunState,
        result: Option<Value>,
    },
    AttemptStarted {
        attempt: NewAttempt,
    },
    AttemptEnded {
        attempt_id: AttemptId,
        state: AttemptState,
        outcome: Outcome,
    },
}

impl Change {
    /// The kind under which the continuity surface lists the event.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::TaskCreated { .. } => "task_created",
            Change::TaskMoved { .. } => "task_status",
            Change::TaskClaimed { .. } => "task_claimed",
            Change::TaskReleased { .. } => "task_released",
            Change::AgentFocused { .. } => "agent_focus",
            Change::RunSubmitted { .. } => "run_submitted",
            Change::RunOwned { .. } => "run_owned",
            Change::RunCancelRequested { .. } => "run_cancel_requested",
            Change::RunMoved { .. } => "run_status",
            Change::AttemptStarted { .. } => "attempt_started",
            Change::AttemptEnded { .. } => "attempt_ended",
        }
    }

    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Change::TaskCreated { task_id, .. }
            | Change::TaskMoved { task_id, .. }
            | Change::TaskClaimed { task_id, .. }
            | Change::TaskReleased { task_id }
            | Change::AgentFocused { task_id, .. } => Some(task_id),
            Change::AttemptStarted { attempt } => Some(&attempt.task_id),
            Change::RunSubmitted { .. }
            | Change::RunOwned { .. }
            | Change::RunCancelRequested { .. }
            | Change::RunMoved { .. }
            | Change::AttemptEnded { .. } => None,
        }
    }
}
