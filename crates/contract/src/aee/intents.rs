//! The seven intents that AEE reserves, and the payloads of their tasks and results.

use crate::aee::{Type, parts};
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{Object, Shape, TEXT, TEXTS, Unknown, check as shape_check, optional, required};

pub const STATUS_PING: &str = "aee.status.ping";
pub const STATUS_HEALTH: &str = "aee.status.health";
pub const SPEC_QUERY: &str = "aee.spec.query";
pub const CAPABILITY_LIST: &str = "aee.capability.list";
pub const CONTEXT_FETCH: &str = "aee.context.fetch";
pub const CONTEXT_REFUTE: &str = "aee.context.refute";
pub const VALIDATE_PAYLOAD: &str = "aee.validate.payload";

pub const ALL: [&str; 7] = [
    STATUS_PING,
    STATUS_HEALTH,
    SPEC_QUERY,
    CAPABILITY_LIST,
    CONTEXT_FETCH,
    CONTEXT_REFUTE,
    VALIDATE_PAYLOAD,
];

/// Whether the name is reserved for the protocol, known to this version or not.
pub fn is_reserved(intent: &str) -> bool {
    intent.starts_with("aee.")
}

/// The payload shape that `intent` defines for this type, if any.
pub fn payload_shape(intent: &str, kind: Type) -> Option<&'static Object> {
    match (intent, kind) {
        (_, Type::Error) if ALL.contains(&intent) => Some(&parts::FAILURE),
        (STATUS_PING | STATUS_HEALTH | SPEC_QUERY, Type::Task) => Some(&NOTHING),
        (STATUS_PING, Type::Result) => Some(&PONG),
        (STATUS_HEALTH, Type::Result) => Some(&HEALTH),
        (SPEC_QUERY, Type::Result) => Some(&SPEC),
        (CAPABILITY_LIST, Type::Task) => Some(&CAPABILITY_QUESTION),
        (CAPABILITY_LIST, Type::Result) => Some(&CAPABILITIES),
        (CONTEXT_FETCH, Type::Task) => Some(&FETCH),
        (CONTEXT_FETCH, Type::Result) => Some(&FETCHED),
        (CONTEXT_REFUTE, Type::Task) => Some(&REFUTE),
        (CONTEXT_REFUTE, Type::Result) => Some(&REFUTED),
        (VALIDATE_PAYLOAD, Type::Task) => Some(&VALIDATE),
        (VALIDATE_PAYLOAD, Type::Result) => Some(&VALIDATED),
        _ => None,
    }
}

/// The faults of a payload under a reserved intent; payloads of other intents are not checked.
pub fn check(intent: &str, kind: Type, payload: &Value) -> Findings {
    let Some(object) = payload_shape(intent, kind) else { return Findings::default() };
    let mut findings = shape_check::check(&Shape::Object(object), payload, false);
    if intent == STATUS_PING && kind == Type::Result && payload.get("pong") == Some(&Value::Bool(false)) {
        findings.push("$.pong", "const", "must be true");
    }
    findings
}

const fn object(name: &'static str, fields: &'static [crate::shape::Field], unknown: Unknown) -> Object {
    Object { name, about: "", fields, unknown }
}

static NOTHING: Object = object("aee_nothing", &[], Unknown::Refused);

static PONG: Object = object(
    "aee_pong",
    &[required("pong", Shape::Bool, "Always true."), optional("ts", TEXT, "")],
    Unknown::Kept,
);

static HEALTH: Object = object(
    "aee_health",
    &[
        required("status", Shape::Word(&["healthy", "degraded", "unhealthy"]), ""),
        optional("details", Shape::AnyObject, ""),
    ],
    Unknown::Kept,
);

static SPEC: Object = object(
    "aee_spec",
    &[required("aee_version", TEXT, ""), optional("extensions", TEXTS, "")],
    Unknown::Kept,
);

static CAPABILITY_QUESTION: Object = object(
    "aee_capability_question",
    &[optional("namespace_filter", TEXT, "Only intents that start with this.")],
    Unknown::Kept,
);

static CAPABILITIES: Object = object("aee_capabilities", &[required("intents", TEXTS, "")], Unknown::Kept);

static FETCH: Object = object(
    "aee_context_fetch",
    &[
        required("id", TEXT, ""),
        optional("corr", TEXT, ""),
        optional("locator", TEXT, ""),
        optional("hash", TEXT, ""),
    ],
    Unknown::Kept,
);

static FETCHED: Object = object(
    "aee_context_fetched",
    &[
        required("found", Shape::Bool, ""),
        optional("envelope", Shape::AnyObject, ""),
        optional("hash", TEXT, ""),
    ],
    Unknown::Kept,
);

static REFUTE: Object =
    object("aee_context_refute", &[required("id", TEXT, ""), required("reason", TEXT, "")], Unknown::Kept);

static REFUTED: Object =
    object("aee_context_refuted", &[required("acknowledged", Shape::Bool, "")], Unknown::Kept);

static VALIDATE: Object = object(
    "aee_validate_payload",
    &[
        required("intent", TEXT, ""),
        required("payload_to_validate", Shape::AnyObject, ""),
        optional("type_hint", Shape::Word(&["task", "result", "error"]), ""),
    ],
    Unknown::Kept,
);

static VALIDATED: Object = object(
    "aee_payload_validated",
    &[required("valid", Shape::Bool, ""), optional("errors", TEXTS, "")],
    Unknown::Kept,
);

#[cfg(test)]
mod tests;
