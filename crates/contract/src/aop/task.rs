//! The TASK message: who should do what, where, under which limits.

mod phase;
mod policy;
pub(crate) mod shape;
mod work;

use serde::{Deserialize, Serialize};

pub use phase::{Artifact, Checkpoint, CheckpointStatus, Expects, Phase, RecoveryStrategy, Validation};
pub use policy::{
    AlternativeModel, ExecutionPolicy, FallbackTrigger, GuardRails, Heartbeat, OnFailure, OnHeartbeatFailure,
};
pub use work::{
    Access, Budgets, Category, Complexity, Constraints, Environment, ExpectedOutput, Filesystem, Input,
    Network, RollbackSnapshot, SnapshotStrategy, Work,
};

use super::header::{AOP_VERSION, Extensions, Family, SCHEMA_VERSION};
use super::word::words;
use crate::domain::time::Timestamp;

words! {
    /// The message type of a TASK.
    TaskMessage { Task = "TASK" }
}

/// A whole TASK envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub aop_version: String,
    pub schema_version: String,
    pub protocol_family: Family,
    pub message_type: TaskMessage,
    pub session: Session,
    pub target: Target,
    pub task: Work,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_policy: Option<ExecutionPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_rails: Option<GuardRails>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orchestration_metadata: Option<OrchestrationMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

impl Task {
    /// A task with the current header and nothing optional.
    pub fn new(session: Session, target: Target, work: Work) -> Self {
        Self {
            aop_version: AOP_VERSION.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            protocol_family: Family::Aop,
            message_type: TaskMessage::Task,
            session,
            target,
            task: work,
            execution_policy: None,
            guard_rails: None,
            phases: Vec::new(),
            orchestration_metadata: None,
            extensions: None,
        }
    }
}

words! {
    WorkflowPattern {
        Single = "SINGLE",
        Chain = "CHAIN",
        Parallel = "PARALLEL",
        MapReduce = "MAP_REDUCE",
        Hierarchical = "HIERARCHICAL",
    }
}

/// The session the task belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub session_id: String,
    pub created_at: Timestamp,
    pub orchestrator: String,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_pattern: Option<WorkflowPattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    Role { Orchestrator = "ORCHESTRATOR", Executor = "EXECUTOR", Specialist = "SPECIALIST" }
}

words! {
    /// Whose model it is.
    Provider { Claude = "CLAUDE", Codex = "CODEX", Gemini = "GEMINI", Local = "LOCAL", Other = "OTHER" }
}

words! {
    ExecutionProfile { Fast = "fast", Balanced = "balanced", Thorough = "thorough" }
}

/// Who is to do it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub agent_name: String,
    pub role: Role,
    pub provider: Provider,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_profile: Option<ExecutionProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// What the target can do. Absent fields have the defaults that [`super::effective`] applies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    /// An empty list supports none; an absent one means the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aop_versions_supported: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system_access: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_access: Option<Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headless_mode: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// Where the task came from, for people and audits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OrchestrationMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec_author: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}
