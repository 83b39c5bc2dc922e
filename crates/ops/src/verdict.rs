//! A validator's verdict as the answer of a verb.

use contract::finding::Finding;
use contract::json::{Map, Value};
use contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether something is allowed, and every reason why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictAnswer {
    pub allow: bool,
    /// `OK`, or the one code of the contract that decides.
    pub code: String,
    pub reason: String,
    pub details: VerdictDetails,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictDetails {
    /// The kind of document, or the check.
    pub kind: String,
    /// The rule of the finding that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The path of the finding that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub findings: Vec<FindingView>,
    pub warnings: Vec<FindingView>,
    /// Facts that only this check has, such as `issues`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    /// A JSON path: `$.task.inputs[2].type`.
    pub path: String,
    /// A stable name: `missing`, `type`, `unknown_field`, …
    pub rule: String,
    pub message: String,
}

impl From<Verdict> for VerdictAnswer {
    fn from(verdict: Verdict) -> Self {
        let details = verdict.details;
        let views = |findings: Vec<Finding>| findings.into_iter().map(FindingView::from).collect();
        Self {
            allow: verdict.allow,
            code: verdict.code,
            reason: verdict.reason,
            details: VerdictDetails {
                kind: details.kind,
                rule: details.rule,
                path: details.path,
                findings: views(details.findings),
                warnings: views(details.warnings),
                more: details.more,
            },
        }
    }
}

impl From<Finding> for FindingView {
    fn from(finding: Finding) -> Self {
        Self { path: finding.path, rule: finding.rule.to_owned(), message: finding.message }
    }
}
