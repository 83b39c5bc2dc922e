//! The shape of the envelope and of the small objects in it.

use super::Type;
use super::evidence::Level;
use crate::shape::{
    Described, NON_BLANK, NOT_NEGATIVE, Object, Shape, TEXT, UNBOUNDED, Unknown, optional, required, text,
};

/// The fourteen fields in the order in which they are printed.
pub const FIELDS: [&str; 14] = [
    "v", "id", "ts", "type", "from", "to", "intent", "corr", "reply_to", "trace", "priority", "requires",
    "payload", "sig",
];

/// The shortest id and correlation: long enough not to be a counter.
pub const ID_CHARS_MIN: usize = 8;

pub const PRIORITY_WORDS: &[&str] = &["low", "normal", "high", "urgent"];

/// From 0 (no trust) to 1 (certain).
pub const CONFIDENCE: Shape = Shape::Number { min: 0.0, max: 1.0 };

const ID: Shape = text(ID_CHARS_MIN, UNBOUNDED);

/// One envelope. That a result and an error need `reply_to` is checked beside the shape.
pub static ENVELOPE: Object = Object {
    name: "aee_envelope",
    about: "One message or event.",
    fields: &[
        required("v", Shape::Word(&[super::VERSION]), "Version of the envelope."),
        required("id", ID, "Unique id of this envelope."),
        required("ts", text(10, UNBOUNDED), "Creation time; RFC 3339 in UTC is recommended."),
        required("type", Type::SHAPE, "Type of the envelope."),
        required("from", text(1, UNBOUNDED), "Sender: agent.*, human.*, service.*."),
        required("to", text(1, UNBOUNDED), "Receiver; also a bus.* or a sink such as log.aocl."),
        required("intent", text(3, UNBOUNDED), "A dotted name that defines the payload."),
        required("corr", ID, "Correlation id of all envelopes of one work item."),
        optional("reply_to", Shape::Nullable(&TEXT), "The envelope this one answers; required for answers."),
        optional("trace", Shape::Nullable(&Shape::Object(&TRACE)), "Ids for a tracing system."),
        required("priority", Shape::Word(PRIORITY_WORDS), "How urgent it is."),
        optional("requires", Shape::Nullable(&Shape::Object(&REQUIRES)), "What the sender expects."),
        required("payload", Shape::AnyObject, "The content, as defined by the intent."),
        optional(
            "sig",
            Shape::Nullable(&Shape::Either(&[Shape::AnyObject, TEXT])),
            "Signature over ten of the fields.",
        ),
    ],
    // Unknown fields are ignored and passed on; only strict mode refuses them.
    unknown: Unknown::KeptUnlessStrict,
};

static TRACE: Object = Object {
    name: "aee_trace",
    about: "",
    fields: &[optional("trace_id", TEXT, ""), optional("span_id", TEXT, "")],
    unknown: Unknown::Kept,
};

/// What the sender of a task expects. Unknown keys are ignored; known keys must be valid.
pub static REQUIRES: Object = Object {
    name: "aee_requires",
    about: "",
    fields: &[
        optional("timeout_ms", NOT_NEGATIVE, "How long the answer may take."),
        optional("human_approval", Shape::Bool, "Whether a person must agree first."),
        optional("evidence", Shape::Bool, "Whether the answer must contain evidence."),
        optional("format", TEXT, "The format of the answer."),
        optional("min_confidence", CONFIDENCE, "The minimum confidence."),
        optional("decision_evidence", Level::SHAPE, "How much of the decision is recorded."),
    ],
    unknown: Unknown::Kept,
};

/// A pointer to another envelope, used instead of nesting it.
pub static REFERENCE: Object = Object {
    name: "aee_reference",
    about: "",
    fields: &[
        required("id", NON_BLANK, ""),
        required("type", Shape::Word(&["aee.envelope"]), ""),
        optional("corr", TEXT, ""),
        optional("locator", TEXT, ""),
        optional("hash", TEXT, ""),
    ],
    unknown: Unknown::Kept,
};
