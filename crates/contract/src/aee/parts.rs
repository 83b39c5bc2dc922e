//! Payload parts that mean the same under every intent: the error convention and references.

use serde::{Deserialize, Serialize};

use crate::aee::shape::REFERENCE;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{
    List, NATURAL, Object, Shape, TEXT, TEXTS, UNBOUNDED, Unknown, check as shape_check, optional, required,
};

/// The payload of an envelope of type error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
}

/// A pointer to another envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub id: String,
    /// Always `aee.envelope`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

pub static FAILURE: Object = Object {
    name: "aee_error_payload",
    about: "Why the work did not succeed, and whether a retry can help.",
    fields: &[
        required("code", TEXT, "Error code for programs."),
        required("message", TEXT, "Message for people."),
        optional("retryable", Shape::Bool, "Whether the same task may succeed later."),
        optional("backoff_ms", NATURAL, "How long to wait before a retry."),
        optional("evidence_refs", TEXTS, "References to evidence."),
    ],
    unknown: Unknown::Kept,
};

pub static REFERENCES: List = List { item: Shape::Object(&REFERENCE), min: 0, max: UNBOUNDED };

pub fn check_error(payload: &Value) -> Findings {
    shape_check::check(&Shape::Object(&FAILURE), payload, false)
}

pub fn check_references(references: &Value) -> Findings {
    shape_check::check(&Shape::List(&REFERENCES), references, false)
}
