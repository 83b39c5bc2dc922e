//! The control payloads, typed, as writ emits them and reads them back.

use serde::{Deserialize, Deserializer, Serialize};

use crate::aocl::layer::{self, Layer};
use crate::json::{Map, Value};

/// Names a layer in a payload. The id is text, because other stacks have layers of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRef {
    pub id: String,
    #[serde(default = "layer_version")]
    pub version: String,
}

impl From<Layer> for LayerRef {
    fn from(layer: Layer) -> Self {
        Self { id: layer.id().to_owned(), version: layer_version() }
    }
}

/// One thing a layer decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What a program may branch on, such as `POLICY_ALLOW`.
    pub code: String,
    pub reason: String,
}

/// The context before and after a layer. One layer's `context_out` is the next one's `context_in`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Digests {
    pub context_in: String,
    pub context_out: String,
}

/// What a layer asks of the runner.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Control {
    pub halt_pipeline: bool,
    pub branch_to: Option<String>,
    pub bypass_layers: Vec<String>,
    pub require_hitl: bool,
    pub severity: Option<String>,
}

/// Everything one layer did, in one event (`aocl.layer.decision`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerPayload {
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub stack_id: String,
    pub layer: LayerRef,
    #[serde(default, deserialize_with = "whole_millis")]
    pub timing_ms: u64,
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// C-paths and their new values.
    #[serde(default)]
    pub delta: Map<String, Value>,
    #[serde(default)]
    pub refs: Vec<String>,
    #[serde(default)]
    pub digests: Digests,
    #[serde(default)]
    pub control: Control,
}

impl LayerPayload {
    /// The first of the four events that tell the same in steps: enter, decision, patch, exit.
    pub fn enter(&self) -> LayerEnter {
        LayerEnter { run_id: self.run_id.clone(), stack_id: self.stack_id.clone(), layer: self.layer.clone() }
    }

    /// The third: what changed.
    pub fn patch(&self) -> ContextPatch {
        ContextPatch {
            run_id: self.run_id.clone(),
            stack_id: self.stack_id.clone(),
            layer: self.layer.clone(),
            delta: self.delta.clone(),
            refs: self.refs.clone(),
            digests: self.digests.clone(),
        }
    }

    /// The last: how long it took.
    pub fn exit(&self) -> LayerExit {
        LayerExit {
            run_id: self.run_id.clone(),
            stack_id: self.stack_id.clone(),
            layer: self.layer.clone(),
            timing_ms: self.timing_ms,
            control: self.control.clone(),
        }
    }
}

/// `aocl.layer.enter`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerEnter {
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub stack_id: String,
    pub layer: LayerRef,
}

/// `aocl.layer.exit`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerExit {
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub stack_id: String,
    pub layer: LayerRef,
    #[serde(default, deserialize_with = "whole_millis")]
    pub timing_ms: u64,
    #[serde(default)]
    pub control: Control,
}

/// `aocl.context.patch`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextPatch {
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub stack_id: String,
    pub layer: LayerRef,
    pub delta: Map<String, Value>,
    #[serde(default)]
    pub refs: Vec<String>,
    #[serde(default)]
    pub digests: Digests,
}

/// `aocl.stack.select`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackSelect {
    #[serde(default)]
    pub run_id: String,
    pub stack_id: String,
    pub reason: String,
}

/// `aocl.control.bypass`: asked for, and allowed or denied. Never silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bypass {
    #[serde(default)]
    pub run_id: String,
    pub requested_by: String,
    pub layers: Vec<String>,
    pub allowed: bool,
    pub reason: String,
    /// What permitted or forbade it.
    #[serde(default)]
    pub policy: Option<String>,
}

/// `aocl.control.branch`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    #[serde(default)]
    pub run_id: String,
    pub from: String,
    /// None when a branch was asked for and refused.
    pub to: Option<String>,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// `pass`, `fail`, or another runner's word.
    pub status: String,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub confidence: Option<f64>,
}

/// `aocl.verify.result`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyResult {
    #[serde(default)]
    pub run_id: String,
    pub verification: Verification,
}

/// Work that was handed to someone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    pub to: String,
    pub intent: String,
    pub status: String,
}

/// `aocl.run.summary`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub run_id: String,
    #[serde(default)]
    pub stack_id: String,
    pub layers_executed: Vec<String>,
    #[serde(default)]
    pub layers_bypassed: Vec<String>,
    #[serde(default)]
    pub branch_taken: Option<String>,
    #[serde(default, deserialize_with = "whole_millis")]
    pub timing_ms_total: u64,
    #[serde(default)]
    pub delegations: Vec<Delegation>,
    #[serde(default)]
    pub verification: Option<Verification>,
    #[serde(default)]
    pub refs: Vec<String>,
    #[serde(default)]
    pub notes: Option<String>,
}

fn layer_version() -> String {
    layer::VERSION.to_owned()
}

/// Others measure in fractions; what is less than a millisecond does not matter here.
fn whole_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let millis = f64::deserialize(deserializer)?;
    if millis < 0.0 {
        return Err(serde::de::Error::custom("a length of time must not be negative"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates; the sign was checked"
    )]
    let whole = millis.round() as u64;
    Ok(whole)
}

#[cfg(test)]
mod tests;
