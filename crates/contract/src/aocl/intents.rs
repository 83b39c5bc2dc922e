//! The names of the control events, and which payload each has.

use crate::aocl::payload;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{Object, Shape, check as shape_check};

pub const STACK_SELECT: &str = "aocl.stack.select";
pub const LAYER_ENTER: &str = "aocl.layer.enter";
pub const LAYER_DECISION: &str = "aocl.layer.decision";
pub const CONTEXT_PATCH: &str = "aocl.context.patch";
pub const LAYER_EXIT: &str = "aocl.layer.exit";
pub const CONTROL_BYPASS: &str = "aocl.control.bypass";
pub const CONTROL_BRANCH: &str = "aocl.control.branch";
pub const VERIFY_RESULT: &str = "aocl.verify.result";
pub const RUN_SUMMARY: &str = "aocl.run.summary";

pub const ALL: [&str; 9] = [
    STACK_SELECT,
    LAYER_ENTER,
    LAYER_DECISION,
    CONTEXT_PATCH,
    LAYER_EXIT,
    CONTROL_BYPASS,
    CONTROL_BRANCH,
    VERIFY_RESULT,
    RUN_SUMMARY,
];

/// Whether an intent belongs to the control layers, known to this version or not.
pub fn is_control(intent: &str) -> bool {
    intent.starts_with("aocl.")
}

/// Whether an event with this intent is about one layer.
pub fn is_layer_event(intent: &str) -> bool {
    matches!(intent, LAYER_ENTER | LAYER_DECISION | CONTEXT_PATCH | LAYER_EXIT)
}

/// The payload shape that `intent` defines, if it is a known control intent.
pub fn payload_shape(intent: &str) -> Option<&'static Object> {
    match intent {
        STACK_SELECT => Some(payload::StackSelect::OBJECT),
        LAYER_ENTER | LAYER_DECISION | LAYER_EXIT => Some(payload::LayerPayload::OBJECT),
        CONTEXT_PATCH => Some(payload::ContextPatch::OBJECT),
        CONTROL_BYPASS => Some(payload::Bypass::OBJECT),
        CONTROL_BRANCH => Some(payload::Branch::OBJECT),
        VERIFY_RESULT => Some(payload::VerifyResult::OBJECT),
        RUN_SUMMARY => Some(payload::RunSummary::OBJECT),
        _ => None,
    }
}

/// The faults of a control payload; payloads of other intents are not checked.
pub fn check_payload(intent: &str, payload: &Value) -> Findings {
    match payload_shape(intent) {
        Some(object) => shape_check::check(&Shape::Object(object), payload, false),
        None => Findings::default(),
    }
}
