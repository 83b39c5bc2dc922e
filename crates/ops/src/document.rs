//! Documents of the contracts: judging, converting and describing them. None of these verbs needs a store.

pub mod convert;
pub mod plan;
pub mod schema;
pub mod validate;

use contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The answer of every validator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgment {
    pub allow: bool,
    /// `OK`, or the primary code of the contract that the document belongs to.
    pub code: String,
    pub reason: String,
    /// The kind, the rule and the path that decided, all findings, and facts of the one validator.
    pub details: Map<String, Value>,
    /// What a conversion made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
}

impl From<&Verdict> for Judgment {
    fn from(verdict: &Verdict) -> Self {
        Self {
            allow: verdict.allow,
            code: verdict.code.clone(),
            reason: verdict.reason.clone(),
            details: json!(verdict.details).as_object().cloned().unwrap_or_default(),
            document: None,
        }
    }
}
