//! The EVENT message: what happens while a task or a session runs.

mod report;
pub(crate) mod shape;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use report::{
    AuditTrail, CostSummary, DelegationEdge, DelegationGraph, DelegationNode, EdgeKind, RoleAssignment,
    SessionFinalReport, SessionStatus, TaskOutcome, Totals,
};

use super::header::{AOP_VERSION, Extensions, Family, NAME, SCHEMA_VERSION};
use super::priority;
use crate::domain::priority::Priority;
use crate::domain::time::Timestamp;
use crate::shape::words;
use crate::shape::{PERCENT, Shape, document};

words! {
    /// The message type of an EVENT.
    EventMessage { Event = "EVENT" }
}

words! {
    EventKind {
        Heartbeat = "HEARTBEAT",
        ProgressUpdate = "PROGRESS_UPDATE",
        PriorityEscalation = "PRIORITY_ESCALATION",
        RollbackInitiated = "ROLLBACK_INITIATED",
        VersionFallback = "VERSION_FALLBACK",
        SessionFinalReport = "SESSION_FINAL_REPORT",
    }
}

/// An EVENT. On the wire the body's fields are at the same level as these.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub aop_version: String,
    /// Absent in the contract's examples, which means the current version; we always print it.
    pub schema_version: String,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub timestamp: Timestamp,
    pub body: Body,
    pub extensions: Option<Extensions>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Heartbeat(HeartbeatBody),
    ProgressUpdate(ProgressUpdate),
    PriorityEscalation(PriorityEscalation),
    RollbackInitiated(RollbackInitiated),
    VersionFallback(VersionFallback),
    SessionFinalReport(Box<SessionFinalReport>),
}

impl Event {
    /// An event with the current header.
    pub fn new(
        session_id: Option<String>,
        task_id: Option<String>,
        timestamp: Timestamp,
        body: Body,
    ) -> Self {
        Self {
            aop_version: AOP_VERSION.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            session_id,
            task_id,
            timestamp,
            body,
            extensions: None,
        }
    }

    pub fn kind(&self) -> EventKind {
        match self.body {
            Body::Heartbeat(_) => EventKind::Heartbeat,
            Body::ProgressUpdate(_) => EventKind::ProgressUpdate,
            Body::PriorityEscalation(_) => EventKind::PriorityEscalation,
            Body::RollbackInitiated(_) => EventKind::RollbackInitiated,
            Body::VersionFallback(_) => EventKind::VersionFallback,
            Body::SessionFinalReport(_) => EventKind::SessionFinalReport,
        }
    }
}

document! {
    /// the executor is alive
    #[shape(name = "heartbeat_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct HeartbeatBody {
        pub agent: String as NAME,
        pub progress_percentage: Option<u64> as Shape::Nullable(&PERCENT),
        pub current_phase: Option<String>,
        pub current_checkpoint: Option<String>,
    }
}

document! {
    /// the executor's progress; at most every 30 seconds
    #[shape(name = "progress_update_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ProgressUpdate {
        pub agent: String as NAME,
        pub progress: Progress,
    }
}

document! {
    #[shape(name = "progress", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Progress {
        pub percentage: u64 as PERCENT,
        pub message: String,
        pub current_phase: Option<String>,
        pub current_checkpoint: Option<String>,
        pub estimated_time_remaining_seconds: Option<u64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    /// a task became more urgent
    #[shape(name = "priority_escalation_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct PriorityEscalation {
        #[serde(with = "priority")]
        pub old_priority: Priority as priority::SHAPE,
        #[serde(with = "priority")]
        pub new_priority: Priority as priority::SHAPE,
        pub reason: String,
        pub escalated_by: String,
    }
}

document! {
    /// artifacts were restored, with the result for each
    #[shape(name = "rollback_initiated_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RollbackInitiated {
        /// such as TASK_ABORTED
        pub trigger: String as NAME,
        pub artifacts_rolled_back: Vec<RolledBack>,
    }
}

document! {
    // We print `SUCCESS` or `FAILED`; other implementations write other values.
    #[shape(name = "rolled_back_artifact", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RolledBack {
        pub path: String,
        pub restored_from: String,
        /// SUCCESS or FAILED
        pub status: String,
        pub extensions: Option<Extensions>,
    }
}

document! {
    /// a message is not valid v2 and is sent as a v1 prompt
    #[shape(name = "version_fallback_event", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct VersionFallback {
        pub agent: Option<String>,
        /// the version the message claimed
        pub from_version: Option<String>,
        /// 1.x
        pub to_version: Option<String>,
        /// V2_SCHEMA_VALIDATION_FAILED or TARGET_V1_ONLY
        pub reason: String,
        pub error_code: Option<String>,
        // We print texts; other implementations may print objects.
        /// the validation errors
        #[optional]
        pub validation_errors: Vec<Value>,
        /// the first 200 characters
        pub input_preview: Option<String>,
    }
}

/// The fields outside the body, for reading.
#[derive(Deserialize)]
struct EventFrame {
    aop_version: String,
    schema_version: Option<String>,
    event: EventKind,
    session_id: Option<String>,
    task_id: Option<String>,
    timestamp: Timestamp,
    extensions: Option<Extensions>,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        read(&value).map_err(serde::de::Error::custom)
    }
}

fn read(value: &Value) -> Result<Event, serde_json::Error> {
    let frame = EventFrame::deserialize(value)?;
    let body = match frame.event {
        EventKind::Heartbeat => Body::Heartbeat(Deserialize::deserialize(value)?),
        EventKind::ProgressUpdate => Body::ProgressUpdate(Deserialize::deserialize(value)?),
        EventKind::PriorityEscalation => Body::PriorityEscalation(Deserialize::deserialize(value)?),
        EventKind::RollbackInitiated => Body::RollbackInitiated(Deserialize::deserialize(value)?),
        EventKind::VersionFallback => Body::VersionFallback(Deserialize::deserialize(value)?),
        EventKind::SessionFinalReport => Body::SessionFinalReport(Deserialize::deserialize(value)?),
    };
    Ok(Event {
        aop_version: frame.aop_version,
        schema_version: frame.schema_version.unwrap_or_else(|| SCHEMA_VERSION.to_owned()),
        session_id: frame.session_id,
        task_id: frame.task_id,
        timestamp: frame.timestamp,
        body,
        extensions: frame.extensions,
    })
}

/// The same for printing.
#[derive(Serialize)]
struct PrintedEvent<'a, B> {
    aop_version: &'a str,
    schema_version: &'a str,
    protocol_family: Family,
    message_type: EventMessage,
    event: EventKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    timestamp: Timestamp,
    #[serde(flatten)]
    body: &'a B,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a Extensions>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.body {
            Body::Heartbeat(body) => self.printed(body).serialize(serializer),
            Body::ProgressUpdate(body) => self.printed(body).serialize(serializer),
            Body::PriorityEscalation(body) => self.printed(body).serialize(serializer),
            Body::RollbackInitiated(body) => self.printed(body).serialize(serializer),
            Body::VersionFallback(body) => self.printed(body).serialize(serializer),
            Body::SessionFinalReport(body) => self.printed(body.as_ref()).serialize(serializer),
        }
    }
}

impl Event {
    fn printed<'a, B>(&'a self, body: &'a B) -> PrintedEvent<'a, B> {
        PrintedEvent {
            aop_version: &self.aop_version,
            schema_version: &self.schema_version,
            protocol_family: Family::Aop,
            message_type: EventMessage::Event,
            event: self.kind(),
            session_id: self.session_id.as_deref(),
            task_id: self.task_id.as_deref(),
            timestamp: self.timestamp,
            body,
            extensions: self.extensions.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests;
