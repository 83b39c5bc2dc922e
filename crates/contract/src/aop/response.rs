//! The RESPONSE message: how a task ended, as its executor reports it.

use serde::{Deserialize, Serialize};

use super::header::{AOP_VERSION, Extensions, Family, NAME, SCHEMA_VERSION, TIME, VERSION};
use super::task::Provider;
use crate::domain::report::{ArtifactStatus, CheckpointStatus, FinalSignal, ReportedState};
use crate::domain::time::Timestamp;
use crate::shape::{PERCENT, Shape, document, words};

words! {
    /// The message type of a RESPONSE.
    ResponseMessage { Response = "RESPONSE" }
}

document! {
    /// an AOP RESPONSE: how a task ended, as its executor reports it
    #[shape(name = "response_message", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Response {
        /// the protocol revision
        pub aop_version: String as VERSION,
        /// the schema revision
        pub schema_version: String as NAME,
        /// always AOP
        pub protocol_family: Family,
        /// always RESPONSE
        pub message_type: ResponseMessage,
        pub session_id: String as NAME,
        pub task_id: String as NAME,
        /// the agent that executed the task
        pub agent: Agent,
        /// how it ended
        pub task_status: TaskStatus,
        /// required unless guard_rails.require_minimal_report is false
        pub execution_summary: Option<ExecutionSummary>,
        #[optional]
        pub checkpoint_results: Vec<CheckpointResult>,
        pub error_details: Option<ErrorDetails>,
        pub timing: Option<Timing>,
        pub cost_tracking: Option<CostTracking>,
        pub progress_log: Option<ProgressLog>,
        pub extensions: Option<Extensions>,
    }
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

document! {
    #[shape(name = "agent", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Agent {
        pub name: String as NAME,
        pub provider: Provider,
        pub model: String,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "task_status", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct TaskStatus {
        pub state: ReportedState,
        /// required unless guard_rails.require_final_signal is false
        pub final_signal: Option<FinalSignal>,
        pub message: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "execution_summary", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct ExecutionSummary {
        /// must not be blank where a report is required
        pub summary: Option<String>,
        /// must not be empty where a report is required; at most 200 without a warning
        #[serde(default)]
        pub actions: Vec<String>,
        #[optional]
        pub output_artifacts: Vec<OutputArtifact>,
        #[optional]
        pub warnings: Vec<String>,
        #[optional]
        pub errors: Vec<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "output_artifact", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct OutputArtifact {
        #[serde(rename = "type")]
        pub kind: String,
        pub path: String,
        pub status: ArtifactStatus,
        pub hash: Option<String>,
        pub size_bytes: Option<u64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "checkpoint_result", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct CheckpointResult {
        pub checkpoint_id: String as NAME,
        pub status: CheckpointStatus,
        pub validation_output: Option<String>,
        #[optional]
        pub evidence: Vec<String>,
        pub notes: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    // `error_code` stays as the executor wrote it; [`super::Code::read`] says which code it is.
    #[shape(name = "error_details", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ErrorDetails {
        /// a code of the taxonomy; others count as E_UNKNOWN
        pub error_code: String as NAME,
        pub message: String,
        pub stack_trace: Option<String>,
        #[optional]
        pub recovery_suggestions: Vec<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "timing", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Timing {
        pub started_at: Timestamp as TIME,
        pub completed_at: Timestamp as TIME,
        pub duration_seconds: u64,
        /// 0 if absent
        pub retries_attempted: Option<u64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "cost_tracking", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct CostTracking {
        pub estimated_cost_usd: Option<f64>,
        pub actual_cost_usd: Option<f64>,
        pub tokens_input: Option<u64>,
        pub tokens_output: Option<u64>,
        pub model_pricing_tier: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "progress_log", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct ProgressLog {
        pub last_progress_event_at: Option<Timestamp> as Shape::Nullable(&TIME),
        pub progress_percentage: Option<u64> as Shape::Nullable(&PERCENT),
        pub extensions: Option<Extensions>,
    }
}
