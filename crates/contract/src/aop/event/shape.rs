//! The shapes of the EVENT messages, one for each kind.

use super::{EdgeKind, EventKind, EventMessage};
use crate::aop::header::{Family, NAME, TIME, VERSION, extensions, maybe};
use crate::aop::priority;
use crate::aop::response::{FinalSignal, State};
use crate::aop::task::{Provider, Role};
use crate::shape::{
    Field, List, Map, NATURAL, NOT_NEGATIVE, Object, PERCENT, POSITIVE, Shape, TEXT, TEXTS, Text, UNBOUNDED,
    Unknown, optional, required,
};

pub(crate) fn of(kind: EventKind) -> &'static Object {
    match kind {
        EventKind::Heartbeat => &HEARTBEAT,
        EventKind::ProgressUpdate => &PROGRESS_UPDATE,
        EventKind::PriorityEscalation => &PRIORITY_ESCALATION,
        EventKind::RollbackInitiated => &ROLLBACK_INITIATED,
        EventKind::VersionFallback => &VERSION_FALLBACK,
        EventKind::SessionFinalReport => &SESSION_FINAL_REPORT,
    }
}

/// What can be said of an event whose kind is missing or unknown.
pub(crate) static EVENT: Object = Object {
    name: "event_message",
    about: "an AOP EVENT of an unknown kind",
    fields: &[AOP, SCHEMA, FAMILY, TYPE, KIND, TIMESTAMP, extensions()],
    unknown: Unknown::Kept,
};

const AOP: Field = required("aop_version", VERSION, "the protocol revision");
const SCHEMA: Field = maybe("schema_version", &NAME, "the schema revision");
const FAMILY: Field = maybe("protocol_family", &Family::SHAPE, "always AOP");
const TYPE: Field = required("message_type", EventMessage::SHAPE, "always EVENT");
const KIND: Field = required("event", EventKind::SHAPE, "what happened");
const SESSION: Field = required("session_id", NAME, "");
const TASK: Field = required("task_id", NAME, "");
const TIMESTAMP: Field = required("timestamp", TIME, "");

static HEARTBEAT: Object = Object {
    name: "heartbeat_event",
    about: "the executor is alive",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        SESSION,
        TASK,
        TIMESTAMP,
        required("agent", NAME, ""),
        maybe("progress_percentage", &PERCENT, ""),
        maybe("current_phase", &TEXT, ""),
        maybe("current_checkpoint", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static PROGRESS_UPDATE: Object = Object {
    name: "progress_update_event",
    about: "how far the executor is; not more often than every 30 seconds",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        SESSION,
        TASK,
        TIMESTAMP,
        required("agent", NAME, ""),
        required("progress", Shape::Object(&PROGRESS), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static PROGRESS: Object = Object {
    name: "progress",
    about: "",
    fields: &[
        required("percentage", PERCENT, ""),
        required("message", TEXT, ""),
        maybe("current_phase", &TEXT, ""),
        maybe("current_checkpoint", &TEXT, ""),
        maybe("estimated_time_remaining_seconds", &NATURAL, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static PRIORITY_ESCALATION: Object = Object {
    name: "priority_escalation_event",
    about: "a task became more urgent",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        SESSION,
        TASK,
        TIMESTAMP,
        required("old_priority", priority::SHAPE, ""),
        required("new_priority", priority::SHAPE, ""),
        required("reason", TEXT, ""),
        required("escalated_by", TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ROLLBACK_INITIATED: Object = Object {
    name: "rollback_initiated_event",
    about: "artifacts were put back, with the result for each",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        SESSION,
        TASK,
        TIMESTAMP,
        required("trigger", NAME, "such as TASK_ABORTED"),
        required(
            "artifacts_rolled_back",
            Shape::List(&List { item: Shape::Object(&ROLLED_BACK), min: 0, max: UNBOUNDED }),
            "",
        ),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

pub(crate) static ROLLED_BACK: Object = Object {
    name: "rolled_back_artifact",
    about: "",
    fields: &[
        required("path", TEXT, ""),
        required("restored_from", TEXT, ""),
        required("status", TEXT, "SUCCESS or FAILED"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static VERSION_FALLBACK: Object = Object {
    name: "version_fallback_event",
    about: "a message could not be taken as v2 and goes on as a v1 prompt",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        maybe("session_id", &NAME, "absent where the message did not name one"),
        maybe("task_id", &NAME, "absent where the message did not name one"),
        TIMESTAMP,
        maybe("agent", &TEXT, ""),
        maybe("from_version", &TEXT, "the version the message claimed"),
        maybe("to_version", &TEXT, "1.x"),
        required("reason", TEXT, "V2_SCHEMA_VALIDATION_FAILED or TARGET_V1_ONLY"),
        maybe("error_code", &TEXT, ""),
        optional(
            "validation_errors",
            Shape::List(&List { item: Shape::Anything, min: 0, max: UNBOUNDED }),
            "what did not fit",
        ),
        maybe("input_preview", &TEXT, "the first 200 characters"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

const AMOUNTS: Shape =
    Shape::Map(&Map { value: NOT_NEGATIVE, key: Text { min: 0, max: UNBOUNDED, form: None } });
const COUNTS: Shape = Shape::Map(&Map { value: NATURAL, key: Text { min: 0, max: UNBOUNDED, form: None } });

/// No text of the contract closes this report, so that fields of others are tolerated unless strict.
static SESSION_FINAL_REPORT: Object = Object {
    name: "session_final_report_event",
    about: "how a session ended, who delegated what to whom, and what it cost",
    fields: &[
        AOP,
        SCHEMA,
        FAMILY,
        TYPE,
        KIND,
        SESSION,
        maybe("task_id", &NAME, ""),
        TIMESTAMP,
        maybe("session_status", &Shape::Object(&SESSION_STATUS), ""),
        maybe("totals", &Shape::Object(&TOTALS), ""),
        maybe("delegation_graph", &Shape::Object(&GRAPH), ""),
        optional("tasks", Shape::List(&List { item: Shape::Object(&OUTCOME), min: 0, max: UNBOUNDED }), ""),
        maybe("cost_summary", &Shape::Object(&COST_SUMMARY), ""),
        maybe("audit_trail", &Shape::Object(&AUDIT_TRAIL), ""),
        optional("event_counts", COUNTS, "how many events of each kind"),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static SESSION_STATUS: Object = Object {
    name: "session_status",
    about: "",
    fields: &[
        required("state", State::SHAPE, ""),
        required("final_signal", FinalSignal::SHAPE, ""),
        maybe("message", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static TOTALS: Object = Object {
    name: "totals",
    about: "",
    fields: &[
        required("total_tasks", NATURAL, ""),
        required("completed", NATURAL, ""),
        required("failed", NATURAL, ""),
        maybe("total_cost_usd", &NOT_NEGATIVE, ""),
        maybe("total_duration_seconds", &NOT_NEGATIVE, ""),
        optional("agents_used", TEXTS, ""),
        optional(
            "role_assignments",
            Shape::List(&List { item: Shape::Object(&ROLE_ASSIGNMENT), min: 0, max: UNBOUNDED }),
            "",
        ),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

pub(crate) static ROLE_ASSIGNMENT: Object = Object {
    name: "role_assignment",
    about: "",
    fields: &[
        required("agent", TEXT, ""),
        required("role", Role::SHAPE, ""),
        maybe("model", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static GRAPH: Object = Object {
    name: "delegation_graph",
    about: "",
    fields: &[
        optional("nodes", Shape::List(&List { item: Shape::Object(&NODE), min: 0, max: UNBOUNDED }), ""),
        optional("edges", Shape::List(&List { item: Shape::Object(&EDGE), min: 0, max: UNBOUNDED }), ""),
        maybe("max_depth", &POSITIVE, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static NODE: Object = Object {
    name: "delegation_node",
    about: "",
    fields: &[
        required("task_id", NAME, ""),
        maybe("parent_task_id", &TEXT, ""),
        maybe("agent", &TEXT, ""),
        maybe("provider", &Provider::SHAPE, ""),
        maybe("model", &TEXT, ""),
        required("depth", POSITIVE, "1 for a task without a parent"),
        required("state", State::SHAPE, ""),
        maybe("final_signal", &FinalSignal::SHAPE, ""),
        optional("depends_on", TEXTS, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static EDGE: Object = Object {
    name: "delegation_edge",
    about: "",
    fields: &[
        required("from", NAME, ""),
        required("to", NAME, ""),
        required("type", EdgeKind::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static OUTCOME: Object = Object {
    name: "task_outcome",
    about: "",
    fields: &[
        required("task_id", NAME, ""),
        required("state", State::SHAPE, ""),
        maybe("final_signal", &FinalSignal::SHAPE, ""),
        maybe("agent", &TEXT, ""),
        maybe("attempts", &NATURAL, ""),
        maybe("error_code", &TEXT, ""),
        maybe("actual_cost_usd", &NOT_NEGATIVE, ""),
        maybe("duration_seconds", &NOT_NEGATIVE, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static COST_SUMMARY: Object = Object {
    name: "cost_summary",
    about: "",
    fields: &[
        maybe("estimated_cost_usd", &NOT_NEGATIVE, ""),
        maybe("actual_cost_usd", &NOT_NEGATIVE, ""),
        maybe("tokens_input", &NATURAL, ""),
        maybe("tokens_output", &NATURAL, ""),
        optional("by_provider", AMOUNTS, ""),
        optional("by_agent", AMOUNTS, ""),
        extensions(),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static AUDIT_TRAIL: Object = Object {
    name: "audit_trail",
    about: "",
    fields: &[required("storage_path", TEXT, ""), maybe("record_count", &NATURAL, ""), extensions()],
    unknown: Unknown::KeptUnlessStrict,
};
