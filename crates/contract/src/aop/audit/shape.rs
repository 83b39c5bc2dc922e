//! The shapes of audit records and of the payloads that are not messages themselves.

use super::{
    AccessDecision, ActorRole, AuditVersion, CheckResult, CheckType, InputVersion, RecordType, RollbackStatus,
};
use crate::aop::event::shape::{ROLE_ASSIGNMENT, ROLLED_BACK};
use crate::aop::header::{NAME, TIME, maybe};
use crate::aop::task::Provider;
use crate::aop::{response, task};
use crate::shape::{
    Form, List, NATURAL, NOT_NEGATIVE, Object, POSITIVE, Shape, TEXT, TEXTS, Text, UNBOUNDED, Unknown,
    optional, required,
};

const UUID: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(&UUID_FORM) });

static UUID_FORM: Form = Form {
    name: "a UUID",
    pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    accepts: is_uuid,
};

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub(crate) static RECORD: Object = Object {
    name: "audit_record",
    about: "one record of an AOP audit trail",
    fields: &[
        required("audit_record_id", UUID, ""),
        required("audit_version", AuditVersion::SHAPE, ""),
        required("timestamp", TIME, ""),
        required("session_id", NAME, ""),
        required("task_id", NAME, "SESSION for the summary of a session"),
        required("record_type", RecordType::SHAPE, ""),
        required("actor", Shape::Object(&ACTOR), "who acted"),
        required("payload", Shape::AnyObject, "what the record is about, by its type"),
        required("context", Shape::Object(&CONTEXT), ""),
        required("governance", Shape::Object(&GOVERNANCE), "which rules were applied, and what they said"),
    ],
    unknown: Unknown::Refused,
};

/// What the payload of a record must look like.
pub(crate) fn payload(record: RecordType) -> &'static Object {
    match record {
        RecordType::TaskDispatched => &task::shape::TASK,
        RecordType::ResponseReceived => &response::shape::RESPONSE,
        RecordType::RoutingDecision => &ROUTING_DECISION,
        RecordType::GuardRailCheck => &GUARD_RAIL_CHECK,
        RecordType::RollbackEvent => &ROLLBACK_EVENT,
        RecordType::SessionSummary => &SESSION_SUMMARY,
    }
}

static ACTOR: Object = Object {
    name: "actor",
    about: "",
    fields: &[
        required("name", NAME, ""),
        required("role", ActorRole::SHAPE, ""),
        maybe("provider", &Provider::SHAPE, ""),
        maybe("model", &TEXT, ""),
    ],
    unknown: Unknown::Refused,
};

static CONTEXT: Object = Object {
    name: "context",
    about: "",
    fields: &[
        maybe("parent_task_id", &TEXT, ""),
        required("attempt", POSITIVE, ""),
        required("correlation_id", NAME, "the session's id"),
    ],
    unknown: Unknown::Refused,
};

static GOVERNANCE: Object = Object {
    name: "governance",
    about: "",
    fields: &[
        required("guard_rails_applied", TEXTS, ""),
        maybe("budget_status", &Shape::Object(&BUDGET_STATUS), ""),
        required("access_decision", AccessDecision::SHAPE, ""),
        maybe("reason_code", &TEXT, ""),
    ],
    unknown: Unknown::Refused,
};

static BUDGET_STATUS: Object = Object {
    name: "budget_status",
    about: "",
    fields: &[
        maybe("max_cost_usd", &NOT_NEGATIVE, ""),
        required("current_cost_usd", NOT_NEGATIVE, ""),
        required("within_budget", Shape::Bool, ""),
    ],
    unknown: Unknown::Refused,
};

static ROUTING_DECISION: Object = Object {
    name: "routing_decision",
    about: "",
    fields: &[
        required("input_version", InputVersion::SHAPE, ""),
        required("routed_to", TEXT, ""),
        maybe("model_selected", &TEXT, ""),
        required("fallback_triggered", Shape::Bool, ""),
        maybe("fallback_reason", &TEXT, ""),
        optional("alternatives_tried", TEXTS, ""),
    ],
    unknown: Unknown::Refused,
};

static GUARD_RAIL_CHECK: Object = Object {
    name: "guard_rail_check",
    about: "",
    fields: &[
        required("check_type", CheckType::SHAPE, ""),
        required("result", CheckResult::SHAPE, ""),
        maybe("details", &TEXT, ""),
        maybe("error_code", &TEXT, ""),
    ],
    unknown: Unknown::Refused,
};

static ROLLBACK_EVENT: Object = Object {
    name: "rollback_event",
    about: "",
    fields: &[
        required("trigger", TEXT, ""),
        required(
            "artifacts_rolled_back",
            Shape::List(&List { item: Shape::Object(&ROLLED_BACK), min: 0, max: UNBOUNDED }),
            "",
        ),
        required("status", RollbackStatus::SHAPE, ""),
    ],
    unknown: Unknown::Refused,
};

static SESSION_SUMMARY: Object = Object {
    name: "session_summary",
    about: "",
    fields: &[
        required("total_tasks", NATURAL, ""),
        required("completed", NATURAL, ""),
        required("failed", NATURAL, ""),
        required("total_cost_usd", NOT_NEGATIVE, ""),
        required("total_duration_seconds", NOT_NEGATIVE, ""),
        optional("agents_used", TEXTS, ""),
        optional(
            "role_assignments",
            Shape::List(&List { item: Shape::Object(&ROLE_ASSIGNMENT), min: 0, max: UNBOUNDED }),
            "",
        ),
    ],
    unknown: Unknown::Refused,
};
