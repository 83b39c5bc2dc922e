//! The answer of every validator: `{allow, code, reason, details}`.

use serde::Serialize;

use crate::finding::{Finding, Findings};

/// Whether a document is allowed, and every reason why not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub allow: bool,
    /// `OK`, or the one primary code of the contract the document belongs to.
    pub code: String,
    pub reason: String,
    pub details: Details,
}

/// The details of the code. `rule` and `path` are those of the finding that decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Details {
    /// The kind of the document: `aop`, `aee`, `assignment`, …
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub findings: Vec<Finding>,
    pub warnings: Vec<Finding>,
    /// Facts of one validator, such as `timed_out` or `issues`.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

impl Verdict {
    pub fn allowed(kind: &str, reason: impl Into<String>, warnings: Findings) -> Self {
        Self {
            allow: true,
            code: "OK".to_owned(),
            reason: reason.into(),
            details: Details {
                kind: kind.to_owned(),
                rule: None,
                path: None,
                findings: Vec::new(),
                warnings: warnings.sorted(),
                more: serde_json::Map::new(),
            },
        }
    }

    /// A refusal for `primary`, which is one of `findings` or is about the document as a whole.
    pub fn denied(kind: &str, code: &str, primary: &Finding, findings: Findings, warnings: Findings) -> Self {
        Self {
            allow: false,
            code: code.to_owned(),
            reason: primary.to_string(),
            details: Details {
                kind: kind.to_owned(),
                rule: Some(primary.rule.to_owned()),
                path: Some(primary.path.clone()),
                findings: findings.sorted(),
                warnings: warnings.sorted(),
                more: serde_json::Map::new(),
            },
        }
    }
}
