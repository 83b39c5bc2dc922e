//! Audit records: what an orchestrator records about every message, decision and rollback.

mod checks;
pub(crate) mod shape;
pub mod trail;
mod validate;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use trail::Trail;
pub use validate::{parse, validate};

use super::event::{RoleAssignment, RolledBack};
use super::header::{NAME, TIME};
use super::response::Response;
use super::task::{Provider, Task};
use crate::domain::money::MicroUsd;
use crate::domain::time::Timestamp;
use crate::shape::words;
use crate::shape::{POSITIVE, Shape, document};
use shape::UUID;

words! {
    AuditVersion { V1 = "1.0.0" }
}

words! {
    RecordType {
        TaskDispatched = "TASK_DISPATCHED",
        ResponseReceived = "RESPONSE_RECEIVED",
        RoutingDecision = "ROUTING_DECISION",
        GuardRailCheck = "GUARD_RAIL_CHECK",
        RollbackEvent = "ROLLBACK_EVENT",
        SessionSummary = "SESSION_SUMMARY",
    }
}

/// One record of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// A UUID.
    pub audit_record_id: String,
    pub audit_version: AuditVersion,
    pub timestamp: Timestamp,
    pub session_id: String,
    /// `SESSION` for the summary of a session.
    pub task_id: String,
    pub record_type: RecordType,
    pub actor: Actor,
    pub payload: Payload,
    pub context: Context,
    pub governance: Governance,
}

impl Record {
    /// The file of a record. Foreign ids are sanitized, so that none can name another folder.
    pub fn file_name(&self) -> String {
        let at = self.timestamp.to_string();
        let time: String =
            at.split('.').next().unwrap_or(&at).chars().filter(char::is_ascii_alphanumeric).collect();
        let id: String = self.audit_record_id.chars().take(8).collect();
        let (session, task, id) = (clean(&self.session_id), clean(&self.task_id), clean(&id));
        format!("{session}_{task}_{}_{time}Z_{id}.json", self.record_type)
    }
}

/// The longest part of a file name that comes from an id; a file name has at most 255 bytes.
const ID_CHARS_MAX: usize = 80;

fn clean(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    name.chars().take(ID_CHARS_MAX).map(kept).collect()
}

words! {
    ActorRole {
        Orchestrator = "ORCHESTRATOR",
        Executor = "EXECUTOR",
        Router = "ROUTER",
        Governance = "GOVERNANCE",
        /// Only for a response that was received.
        Specialist = "SPECIALIST",
    }
}

document! {
    #[shape(name = "actor", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Actor {
        pub name: String as NAME,
        pub role: ActorRole,
        pub provider: Option<Provider>,
        pub model: Option<String>,
    }
}

/// What the record is about. On the wire the record's type says which one it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Payload {
    TaskDispatched(Box<Task>),
    ResponseReceived(Box<Response>),
    RoutingDecision(RoutingDecision),
    GuardRailCheck(GuardRailCheck),
    RollbackEvent(RollbackEvent),
    SessionSummary(SessionSummary),
}

words! {
    InputVersion { V2 = "V2", V1 = "V1", Unstructured = "UNSTRUCTURED" }
}

document! {
    #[shape(name = "routing_decision", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RoutingDecision {
        pub input_version: InputVersion,
        pub routed_to: String,
        pub model_selected: Option<String>,
        pub fallback_triggered: bool,
        pub fallback_reason: Option<String>,
        #[optional]
        pub alternatives_tried: Vec<String>,
    }
}

words! {
    CheckType {
        PayloadLimit = "PAYLOAD_LIMIT",
        Budget = "BUDGET",
        Timeout = "TIMEOUT",
        Access = "ACCESS",
        FinalSignal = "FINAL_SIGNAL",
        MinimalReport = "MINIMAL_REPORT",
    }
}

words! {
    CheckResult { Pass = "PASS", Warn = "WARN", Fail = "FAIL" }
}

document! {
    #[shape(name = "guard_rail_check", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct GuardRailCheck {
        pub check_type: CheckType,
        pub result: CheckResult,
        pub details: Option<String>,
        pub error_code: Option<String>,
    }
}

words! {
    RollbackStatus { Success = "SUCCESS", Failed = "FAILED" }
}

document! {
    #[shape(name = "rollback_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RollbackEvent {
        pub trigger: String,
        pub artifacts_rolled_back: Vec<RolledBack>,
        pub status: RollbackStatus,
    }
}

document! {
    #[shape(name = "session_summary", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct SessionSummary {
        pub total_tasks: u64,
        pub completed: u64,
        pub failed: u64,
        pub total_cost_usd: f64,
        pub total_duration_seconds: f64,
        #[serde(default)]
        pub agents_used: Vec<String>,
        #[serde(default)]
        pub role_assignments: Vec<RoleAssignment>,
    }
}

document! {
    #[shape(name = "context", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Context {
        pub parent_task_id: Option<String>,
        pub attempt: u64 as POSITIVE,
        /// the session's id
        pub correlation_id: String as NAME,
    }
}

words! {
    AccessDecision { Allowed = "ALLOWED", Denied = "DENIED", NotApplicable = "N/A" }
}

document! {
    #[shape(name = "governance", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Governance {
        pub guard_rails_applied: Vec<String>,
        pub budget_status: Option<BudgetStatus>,
        pub access_decision: AccessDecision,
        pub reason_code: Option<String>,
    }
}

document! {
    #[shape(name = "budget_status", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct BudgetStatus {
        pub max_cost_usd: Option<f64>,
        pub current_cost_usd: f64,
        pub within_budget: bool,
    }
}

impl BudgetStatus {
    /// Spending exactly the budget is allowed.
    pub fn of(max: Option<MicroUsd>, current: MicroUsd) -> Self {
        Self {
            max_cost_usd: max.map(MicroUsd::dollars),
            current_cost_usd: current.dollars(),
            within_budget: max.is_none_or(|max| current <= max),
        }
    }
}

document! {
    // A record before its payload is read by its type.
    /// one record of an AOP audit trail
    #[shape(name = "audit_record", unknown = Refused, null = absent)]
    #[derive(Deserialize)]
    struct Raw {
        audit_record_id: String as UUID,
        audit_version: AuditVersion,
        timestamp: Timestamp as TIME,
        session_id: String as NAME,
        /// SESSION for the summary of a session
        task_id: String as NAME,
        record_type: RecordType,
        /// the actor
        actor: Actor,
        /// what the record is about, by its type
        payload: Value as Shape::AnyObject,
        context: Context,
        /// the applied rules and their results
        governance: Governance,
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let payload = read(raw.record_type, raw.payload).map_err(serde::de::Error::custom)?;
        Ok(Self {
            audit_record_id: raw.audit_record_id,
            audit_version: raw.audit_version,
            timestamp: raw.timestamp,
            session_id: raw.session_id,
            task_id: raw.task_id,
            record_type: raw.record_type,
            actor: raw.actor,
            payload,
            context: raw.context,
            governance: raw.governance,
        })
    }
}

fn read(record: RecordType, payload: Value) -> Result<Payload, serde_json::Error> {
    Ok(match record {
        RecordType::TaskDispatched => Payload::TaskDispatched(serde_json::from_value(payload)?),
        RecordType::ResponseReceived => Payload::ResponseReceived(serde_json::from_value(payload)?),
        RecordType::RoutingDecision => Payload::RoutingDecision(serde_json::from_value(payload)?),
        RecordType::GuardRailCheck => Payload::GuardRailCheck(serde_json::from_value(payload)?),
        RecordType::RollbackEvent => Payload::RollbackEvent(serde_json::from_value(payload)?),
        RecordType::SessionSummary => Payload::SessionSummary(serde_json::from_value(payload)?),
    })
}

#[cfg(test)]
mod tests;
