//! The typed expectations of a task's sender.

use std::time::Duration;

use crate::aee::Envelope;
use crate::aee::evidence::Level;
use crate::json::Value;

/// The known keys of `requires`; an unset key means no requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requires {
    pub timeout: Option<Duration>,
    pub human_approval: bool,
    pub evidence: bool,
    pub format: Option<String>,
    pub min_confidence: Option<f64>,
    pub decision_evidence: Level,
}

impl Envelope {
    /// What this envelope's sender expects.
    pub fn expectations(&self) -> Requires {
        let Some(fields) = &self.requires else { return Requires::default() };
        let get = |name: &str| fields.get(name);
        let flag = |name: &str| get(name).and_then(Value::as_bool).unwrap_or(false);
        Requires {
            timeout: get("timeout_ms").and_then(Value::as_f64).and_then(timeout),
            human_approval: flag("human_approval"),
            evidence: flag("evidence"),
            format: get("format").and_then(Value::as_str).map(str::to_owned),
            min_confidence: get("min_confidence").and_then(Value::as_f64),
            decision_evidence: get("decision_evidence")
                .and_then(Value::as_str)
                .and_then(Level::parse)
                .unwrap_or_default(),
        }
    }
}

/// The contract says a number, so fractions of a millisecond are legal. A number that is too large means no timeout.
fn timeout(millis: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}
