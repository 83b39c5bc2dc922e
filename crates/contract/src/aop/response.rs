//! The RESPONSE message: how a task ended, as its executor tells it.

pub(crate) mod shape;

use serde::{Deserialize, Serialize};

use super::header::{AOP_VERSION, Extensions, Family, SCHEMA_VERSION};
use super::task::{CheckpointStatus, Provider};
use super::word::words;
use crate::domain::time::Timestamp;

words! {
    /// The message type of a RESPONSE.
    ResponseMessage { Response = "RESPONSE" }
}

/// A whole RESPONSE envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub aop_version: String,
    pub schema_version: String,
    pub protocol_family: Family,
    pub message_type: ResponseMessage,
    pub session_id: String,
    pub task_id: String,
    pub agent: Agent,
    pub task_status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_summary: Option<ExecutionSummary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_results: Vec<CheckpointResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_details: Option<ErrorDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_tracking: Option<CostTracking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_log: Option<ProgressLog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

impl Response {
    /// A response with the current header and nothing optional.
    pub fn new(
        session_id: impl Into<String>,
        task_id: impl Into<String>,
        agent: Agent,
        task_status: TaskStatus,
    ) -> Self {
        Self {
            aop_version: AOP_VERSION.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            protocol_family: Family::Aop,
            message_type: ResponseMessage::Response,
            session_id: session_id.into(),
            task_id: task_id.into(),
            agent,
            task_status,
            execution_summary: None,
            checkpoint_results: Vec::new(),
            error_details: None,
            timing: None,
            cost_tracking: None,
            progress_log: None,
            extensions: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    pub provider: Provider,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    State {
        Pending = "PENDING",
        InProgress = "IN_PROGRESS",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Aborted = "ABORTED",
        Skipped = "SKIPPED",
    }
}

words! {
    FinalSignal {
        Success = "SUCCESS",
        PartialSuccess = "PARTIAL_SUCCESS",
        Failure = "FAILURE",
        Aborted = "ABORTED",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_signal: Option<FinalSignal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default)]
    pub actions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_artifacts: Vec<OutputArtifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    ArtifactStatus {
        Created = "CREATED",
        Updated = "UPDATED",
        Deleted = "DELETED",
        Unchanged = "UNCHANGED",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputArtifact {
    #[serde(rename = "type")]
    pub kind: String,
    pub path: String,
    pub status: ArtifactStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointResult {
    pub checkpoint_id: String,
    pub status: CheckpointStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// `error_code` stays as the executor wrote it; [`super::codes::Code::read`] says which code it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorDetails {
    pub error_code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery_suggestions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub started_at: Timestamp,
    pub completed_at: Timestamp,
    pub duration_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries_attempted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostTracking {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_pricing_tier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgressLog {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_progress_event_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_percentage: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}
