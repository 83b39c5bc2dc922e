//! The final report of a session: how it ended, who delegated what to whom, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aop::header::Extensions;
use crate::aop::response::{FinalSignal, State};
use crate::aop::task::{Provider, Role};
use crate::aop::word::words;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionFinalReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_status: Option<SessionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_graph: Option<DelegationGraph>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_summary: Option<CostSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_trail: Option<AuditTrail>,
    /// How many events of each kind the session saw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub event_counts: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    pub state: State,
    pub final_signal: FinalSignal,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

impl SessionStatus {
    /// All succeeded: success. None did: failure. Otherwise: partial success. A session without tasks succeeded.
    pub fn of(signals: &[FinalSignal]) -> Self {
        let full = signals.iter().filter(|signal| **signal == FinalSignal::Success).count();
        let some =
            signals.iter().any(|signal| matches!(signal, FinalSignal::Success | FinalSignal::PartialSuccess));
        let (state, final_signal) = if full == signals.len() {
            (State::Completed, FinalSignal::Success)
        } else if some {
            (State::Completed, FinalSignal::PartialSuccess)
        } else {
            (State::Failed, FinalSignal::Failure)
        };
        Self { state, final_signal, message: None, extensions: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub total_tasks: u64,
    pub completed: u64,
    pub failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_duration_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents_used: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub role_assignments: Vec<RoleAssignment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleAssignment {
    pub agent: String,
    pub role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DelegationGraph {
    #[serde(default)]
    pub nodes: Vec<DelegationNode>,
    #[serde(default)]
    pub edges: Vec<DelegationEdge>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationNode {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A task without a parent has depth 1.
    pub depth: u64,
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_signal: Option<FinalSignal>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    EdgeKind { Delegation = "DELEGATION", Dependency = "DEPENDENCY" }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationEdge {
    pub from: String,
    pub to: String,
    #[serde(rename = "type")]
    pub kind: EdgeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskOutcome {
    pub task_id: String,
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_signal: Option<FinalSignal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_output: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_provider: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_agent: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditTrail {
    pub storage_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

impl AuditTrail {
    /// Where the contract says that audit records are, relative to the workspace.
    pub const STORAGE_PATH: &'static str = "_skills/agent-orchestration-protocol_d/v2/audit_trails/";
}
