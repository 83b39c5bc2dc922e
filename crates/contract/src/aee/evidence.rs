//! Decision evidence: how a result shows why it was reached.

use serde::{Deserialize, Serialize};

use crate::aee::shape::CONFIDENCE;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{Object, Shape, TEXT, TEXTS, Unknown, check as shape_check, optional};

/// How much of a decision the sender of a task wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    None,
    Minimal,
    Standard,
    Full,
}

impl Level {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Level::None),
            "minimal" => Some(Level::Minimal),
            "standard" => Some(Level::Standard),
            "full" => Some(Level::Full),
            _ => None,
        }
    }

    /// What must be there at this level.
    pub fn fields(self) -> &'static [&'static str] {
        const ALL: [&str; 7] = [
            "decision",
            "reason_summary",
            "inputs_used",
            "tools_used",
            "action_taken",
            "confidence",
            "context_refs",
        ];
        match self {
            Level::None => &[],
            Level::Minimal => ALL.split_at(2).0,
            Level::Standard => ALL.split_at(6).0,
            Level::Full => &ALL,
        }
    }
}

/// The object under `payload.decision_evidence` of a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionEvidence {
    pub decision: String,
    pub reason_summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_used: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_used: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_taken: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_refs: Option<Vec<String>>,
}

/// Closed: what is not named here has no place in it.
pub static DECISION_EVIDENCE: Object = Object {
    name: "aee_decision_evidence",
    about: "Why a result was reached.",
    fields: &[
        optional("decision", TEXT, "The decision, in one statement."),
        optional("reason_summary", TEXT, "Why, in one to three sentences."),
        optional("inputs_used", TEXTS, "What was looked at."),
        optional("tools_used", TEXTS, "What was called."),
        optional("action_taken", TEXT, "What was done."),
        optional("confidence", CONFIDENCE, "How sure the decider is."),
        optional("context_refs", TEXTS, "Where the context can be found."),
    ],
    unknown: Unknown::Refused,
};

/// The faults of decision evidence that was asked for at `level`.
pub fn check(level: Level, evidence: &Value) -> Findings {
    let mut findings = shape_check::check(&Shape::Object(&DECISION_EVIDENCE), evidence, false);
    if let Value::Object(fields) = evidence {
        for name in level.fields().iter().filter(|name| !fields.contains_key(**name)) {
            findings.push(format!("$.{name}"), "missing", format!("`{name}` is required at this level"));
        }
    }
    findings
}
