//! Decision evidence: why a result was reached.

use serde::{Deserialize, Serialize};

use crate::aee::shape::CONFIDENCE;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::words;
use crate::shape::{Described, check as shape_check, document};

words! {
    /// How much of a decision the sender of a task wants to see.
    #[derive(Default)]
    Level {
        #[default]
        None = "none",
        Minimal = "minimal",
        Standard = "standard",
        Full = "full",
    }
}

impl Level {
    /// The required fields at this level.
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

document! {
    // The object under `payload.decision_evidence` of a result.
    /// Why a result was reached.
    #[shape(name = "aee_decision_evidence", unknown = Refused)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DecisionEvidence {
        /// The decision, in one statement.
        // Which fields are required depends on the level; see `check`.
        #[shape(optional)]
        pub decision: String,
        /// The reason, in one to three sentences.
        #[shape(optional)]
        pub reason_summary: String,
        /// Sources that were considered.
        pub inputs_used: Option<Vec<String>>,
        /// Tools that were called.
        pub tools_used: Option<Vec<String>>,
        /// Actions that were taken.
        pub action_taken: Option<String>,
        /// Confidence in the decision.
        pub confidence: Option<f64> as CONFIDENCE,
        /// References to the context.
        pub context_refs: Option<Vec<String>>,
    }
}

/// The faults of decision evidence that was asked for at `level`.
pub fn check(level: Level, evidence: &Value) -> Findings {
    let mut findings = shape_check::check(&DecisionEvidence::SHAPE, evidence, false);
    if let Value::Object(fields) = evidence {
        for name in level.fields().iter().filter(|name| !fields.contains_key(**name)) {
            findings.push(format!("$.{name}"), "missing", format!("`{name}` is required at this level"));
        }
    }
    findings
}
