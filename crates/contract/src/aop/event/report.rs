//! The final report of a session: how it ended, who delegated what to whom, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aop::header::{Extensions, NAME};
use crate::aop::task::{Provider, Role};
use crate::domain::report::{FinalSignal, ReportedState};
use crate::shape::{POSITIVE, Shape, document, words};

document! {
    /// how a session ended, who delegated what to whom, and what it cost
    #[shape(name = "session_final_report_event", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct SessionFinalReport {
        pub session_status: Option<SessionStatus>,
        pub totals: Option<Totals>,
        pub delegation_graph: Option<DelegationGraph>,
        #[optional]
        pub tasks: Vec<TaskOutcome>,
        pub cost_summary: Option<CostSummary>,
        pub audit_trail: Option<AuditTrail>,
        /// how many events of each kind
        #[optional]
        pub event_counts: BTreeMap<String, u64>,
    }
}

document! {
    #[shape(name = "session_status", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct SessionStatus {
        pub state: ReportedState,
        pub final_signal: FinalSignal,
        pub message: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

impl SessionStatus {
    /// All succeeded: success. None did: failure. Otherwise: partial success. A session without tasks succeeded.
    pub fn of(signals: &[FinalSignal]) -> Self {
        let full = signals.iter().filter(|signal| **signal == FinalSignal::Success).count();
        let some =
            signals.iter().any(|signal| matches!(signal, FinalSignal::Success | FinalSignal::PartialSuccess));
        let (state, final_signal) = if full == signals.len() {
            (ReportedState::Completed, FinalSignal::Success)
        } else if some {
            (ReportedState::Completed, FinalSignal::PartialSuccess)
        } else {
            (ReportedState::Failed, FinalSignal::Failure)
        };
        Self { state, final_signal, message: None, extensions: None }
    }
}

document! {
    #[shape(name = "totals", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Totals {
        pub total_tasks: u64,
        pub completed: u64,
        pub failed: u64,
        pub total_cost_usd: Option<f64>,
        pub total_duration_seconds: Option<f64>,
        #[optional]
        pub agents_used: Vec<String>,
        #[optional]
        pub role_assignments: Vec<RoleAssignment>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "role_assignment", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RoleAssignment {
        pub agent: String,
        pub role: Role,
        pub model: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "delegation_graph", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct DelegationGraph {
        #[serde(default)]
        pub nodes: Vec<DelegationNode>,
        #[serde(default)]
        pub edges: Vec<DelegationEdge>,
        pub max_depth: Option<u64> as Shape::Nullable(&POSITIVE),
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "delegation_node", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct DelegationNode {
        pub task_id: String as NAME,
        pub parent_task_id: Option<String>,
        pub agent: Option<String>,
        pub provider: Option<Provider>,
        pub model: Option<String>,
        /// 1 for a task without a parent
        pub depth: u64 as POSITIVE,
        pub state: ReportedState,
        pub final_signal: Option<FinalSignal>,
        #[optional]
        pub depends_on: Vec<String>,
        pub extensions: Option<Extensions>,
    }
}

words! {
    EdgeKind { Delegation = "DELEGATION", Dependency = "DEPENDENCY" }
}

document! {
    #[shape(name = "delegation_edge", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct DelegationEdge {
        pub from: String as NAME,
        pub to: String as NAME,
        #[serde(rename = "type")]
        pub kind: EdgeKind,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "task_outcome", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct TaskOutcome {
        pub task_id: String as NAME,
        pub state: ReportedState,
        pub final_signal: Option<FinalSignal>,
        pub agent: Option<String>,
        pub attempts: Option<u64>,
        pub error_code: Option<String>,
        pub actual_cost_usd: Option<f64>,
        pub duration_seconds: Option<f64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "cost_summary", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct CostSummary {
        pub estimated_cost_usd: Option<f64>,
        pub actual_cost_usd: Option<f64>,
        pub tokens_input: Option<u64>,
        pub tokens_output: Option<u64>,
        #[optional]
        pub by_provider: BTreeMap<String, f64>,
        #[optional]
        pub by_agent: BTreeMap<String, f64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "audit_trail", unknown = KeptUnlessStrict, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct AuditTrail {
        pub storage_path: String,
        pub record_count: Option<u64>,
        pub extensions: Option<Extensions>,
    }
}

impl AuditTrail {
    /// Where the contract says that audit records are, relative to the workspace.
    pub const STORAGE_PATH: &'static str = "_skills/agent-orchestration-protocol_d/v2/audit_trails/";
}
