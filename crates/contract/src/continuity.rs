//! The agent contract's documents: what its commands print, field for field.

pub mod artifact;
pub mod brief;
pub mod envelope;
pub mod event;
pub mod focus;
pub mod memory;
pub mod push;
pub mod reason;
pub mod state;
pub mod substance;
pub mod vybe;

pub use artifact::ArtifactView;
pub use memory::MemoryView;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::check::{Check, CheckSeen};
use crate::domain::report::ExecutorReport;
use crate::domain::status::{Evidence, Status};
use crate::domain::task::Task;

/// A task as the agent contract shows it, then our own fields. `evidence` says whether a `completed` is verified,
/// self-checked or claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    pub id: String,
    pub title: String,
    pub description: String,
    pub status: String,
    pub priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub depends_on: Vec<String>,
    pub version: i64,
    pub created_at: String,
    pub updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Why a completed task is only claimed although its checks passed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub withheld: Option<String>,
    /// The agent that completed the task wrote its checks.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub self_checked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What writ runs before the task is done.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub checks: Vec<Check>,
    /// What writ saw when it last ran them and they passed. Only `task get` says it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub checks_seen: Vec<CheckSeen>,
    /// What the executor of its last attempt reported. Only `task get` says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub report: Option<Box<ExecutorReport>>,
}

impl TaskView {
    /// The state in the contract's terms: failed and canceled tasks are `blocked`, with a prefixed reason.
    pub fn state(&self) -> Status {
        let status = Status::from_continuity(&self.status).unwrap_or_default();
        let marked = self.blocked_reason.as_deref().and_then(reason::marked);
        marked.filter(|_| status == Status::Blocked).unwrap_or(status)
    }
}

impl From<&Task> for TaskView {
    fn from(task: &Task) -> Self {
        TaskView {
            id: task.id.to_string(),
            title: task.title.clone(),
            description: task.description.clone(),
            status: task.status.continuity().to_owned(),
            priority: task.priority,
            project_id: task.project_id.clone(),
            blocked_reason: reason::printed(task.status, task.blocked_reason.as_ref()),
            depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
            version: task.version,
            created_at: task.created_at.to_string(),
            updated_at: task.updated_at.to_string(),
            evidence: task.evidence.map(|evidence| evidence.as_str().to_owned()),
            withheld: task.withheld(),
            self_checked: task.evidence == Some(Evidence::SelfChecked),
            checks: task.checks().to_vec(),
            checks_seen: Vec::new(),
            report: None,
            run_id: task.part.as_ref().map(|part| part.run_id.to_string()),
        }
    }
}

/// An event as the agent contract shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    pub id: i64,
    pub kind: String,
    pub agent_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Empty if the event belongs to no task.
    pub task_id: String,
    pub message: String,
    pub metadata: Value,
    pub created_at: String,
}
