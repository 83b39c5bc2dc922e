//! The TASK message: who should do what, where, under which limits.

mod phase;
mod policy;
mod work;

use serde::{Deserialize, Serialize};

pub use phase::{Artifact, Checkpoint, Expects, Phase, RecoveryStrategy, Validation};
pub use policy::{AlternativeModel, ExecutionPolicy, GuardRails, Heartbeat};
pub use work::{
    Access, Budgets, Category, Complexity, Constraints, Environment, ExpectedOutput, Filesystem, Input,
    Network, RollbackSnapshot, SnapshotStrategy, Work,
};

use super::header::{AOP_VERSION, Extensions, Family, NAME, SCHEMA_VERSION, TIME, VERSION};
use crate::domain::time::Timestamp;
use crate::shape::{TEXTS, document, words};

words! {
    /// The message type of a TASK.
    TaskMessage { Task = "TASK" }
}

document! {
    /// an AOP TASK: who should do what, where, under which limits
    #[shape(name = "task_message", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Task {
        /// the protocol revision
        pub aop_version: String as VERSION,
        /// the schema revision
        pub schema_version: String as NAME,
        /// always AOP
        pub protocol_family: Family,
        /// always TASK
        pub message_type: TaskMessage,
        /// the session the task belongs to
        pub session: Session,
        /// the agent that shall execute the task
        pub target: Target,
        /// the work
        pub task: Work,
        /// timeout, retries, alternatives
        pub execution_policy: Option<ExecutionPolicy>,
        /// what the response must contain; overrides the policy
        pub guard_rails: Option<GuardRails>,
        /// at most 10 without a warning
        #[optional]
        pub phases: Vec<Phase>,
        /// where the task came from
        pub orchestration_metadata: Option<OrchestrationMetadata>,
        pub extensions: Option<Extensions>,
    }
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

document! {
    // The session the task belongs to.
    #[shape(name = "session", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Session {
        /// correlates every message of the session
        pub session_id: String as NAME,
        pub created_at: Timestamp as TIME,
        pub orchestrator: String,
        /// such as CLI or API
        pub origin: String,
        pub workflow_pattern: Option<WorkflowPattern>,
        pub extensions: Option<Extensions>,
    }
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

document! {
    // The agent that shall execute the task.
    #[shape(name = "target", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Target {
        pub agent_name: String as NAME,
        pub role: Role,
        pub provider: Provider,
        pub model: String,
        pub execution_profile: Option<ExecutionProfile>,
        pub capabilities: Option<Capabilities>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    // What the target can do. Absent fields have the defaults that [`super::effective`] applies.
    #[shape(name = "capabilities", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Capabilities {
        // An empty list supports none; an absent one means the current version.
        pub aop_versions_supported: Option<Vec<String>> as TEXTS,
        /// true if absent
        pub file_system_access: Option<bool>,
        /// RESTRICTED if absent
        pub network_access: Option<Network>,
        /// true if absent
        pub headless_mode: Option<bool>,
        pub extensions: Option<Extensions>,
    }
}

impl Capabilities {
    /// Those of a target about which nobody said anything.
    pub(crate) fn unlimited() -> Self {
        Self { network_access: Some(Network::Full), ..Self::default() }
    }
}

document! {
    // Where the task came from, for people and audits.
    #[shape(name = "orchestration_metadata", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct OrchestrationMetadata {
        pub initiator: Option<String>,
        pub spec_author: Option<String>,
        #[optional]
        pub tags: Vec<String>,
        pub notes: Option<String>,
        pub extensions: Option<Extensions>,
    }
}
