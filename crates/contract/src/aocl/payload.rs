//! The control payloads, typed, as writ emits them and reads them back. What the binding only recommends is
//! optional.

use serde::{Deserialize, Deserializer, Serialize};

use crate::aee::shape::CONFIDENCE;
use crate::aocl::layer::{self, Layer};
use crate::aocl::shape::{DELTA, DIGESTS};
use crate::json::{Map, Value};
use crate::shape::{NON_BLANK, NOT_NEGATIVE, Nullable, Shape, document};

document! {
    // Names a layer in a payload. The id is text, because other stacks have layers of their own.
    #[shape(name = "aocl_layer_ref", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LayerRef {
        pub id: String as NON_BLANK,
        #[serde(default = "layer_version")]
        pub version: String,
    }
}

impl From<Layer> for LayerRef {
    fn from(layer: Layer) -> Self {
        Self { id: layer.id().to_owned(), version: layer_version() }
    }
}

document! {
    // One thing a layer decided.
    #[shape(name = "aocl_decision", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Decision {
        // What a program may branch on, such as `POLICY_ALLOW`.
        pub code: String as NON_BLANK,
        pub reason: String,
    }
}

/// The context before and after a layer. One layer's `context_out` is the next one's `context_in`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Digests {
    pub context_in: String,
    pub context_out: String,
}

document! {
    // What a layer requests from the runner.
    #[shape(name = "aocl_control", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct Control {
        #[serde(default)]
        pub halt_pipeline: bool,
        #[serde(default)]
        pub branch_to: Nullable<String>,
        #[serde(default)]
        pub bypass_layers: Vec<String>,
        #[serde(default)]
        pub require_hitl: bool,
        #[serde(default)]
        pub severity: Nullable<String>,
    }
}

document! {
    // Everything one layer did, in one event (`aocl.layer.decision`).
    #[shape(name = "aocl_layer_event", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct LayerPayload {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        /// The stack of the run.
        #[serde(default)]
        pub stack_id: String,
        /// The layer that reports.
        pub layer: LayerRef,
        /// How long the layer took.
        #[serde(default, deserialize_with = "whole_millis")]
        pub timing_ms: u64 as NOT_NEGATIVE,
        /// What was decided and why, in a few words.
        #[serde(default)]
        pub decisions: Vec<Decision>,
        /// The context changes: C-paths and their new values; null removes.
        #[serde(default)]
        pub delta: Map<String, Value> as DELTA,
        /// References to data that is too large to include.
        #[serde(default)]
        pub refs: Vec<String>,
        /// Digests of the context before and after.
        #[serde(default)]
        pub digests: Digests as DIGESTS,
        /// Requests to the runner.
        #[serde(default)]
        pub control: Control,
    }
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

document! {
    // `aocl.context.patch`
    #[shape(name = "aocl_context_patch", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ContextPatch {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        /// The stack of the run.
        #[serde(default)]
        pub stack_id: String,
        /// The layer that reports.
        pub layer: LayerRef,
        /// The context changes: C-paths and their new values; null removes.
        pub delta: Map<String, Value> as DELTA,
        /// References to data that is too large to include.
        #[serde(default)]
        pub refs: Vec<String>,
        #[serde(default)]
        pub digests: Digests as DIGESTS,
    }
}

document! {
    // `aocl.stack.select`
    #[shape(name = "aocl_stack_select", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct StackSelect {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        pub stack_id: String as NON_BLANK,
        pub reason: String,
    }
}

document! {
    // `aocl.control.bypass`: a request to skip layers, and whether it was allowed. Every request is recorded.
    #[shape(name = "aocl_bypass", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bypass {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        /// The requester.
        pub requested_by: String as NON_BLANK,
        /// The layers to skip.
        pub layers: Vec<String>,
        pub allowed: bool,
        /// The reason for allowing or denying it.
        pub reason: String,
        /// What permitted it.
        #[serde(default)]
        pub policy: Nullable<String>,
    }
}

document! {
    // `aocl.control.branch`
    #[shape(name = "aocl_branch", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Branch {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        pub from: String as NON_BLANK,
        // None when a branch was asked for and refused.
        pub to: Nullable<String> as Shape::Nullable(&NON_BLANK),
        pub reason: String,
    }
}

document! {
    #[shape(name = "aocl_verification", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Verification {
        // `pass`, `fail`, or another runner's value.
        pub status: String as NON_BLANK,
        #[serde(default)]
        pub reason: String,
        #[serde(default)]
        pub confidence: Nullable<f64> as Shape::Nullable(&CONFIDENCE),
    }
}

document! {
    // `aocl.verify.result`
    #[shape(name = "aocl_verify_result", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct VerifyResult {
        /// The run.
        #[serde(default)]
        pub run_id: String,
        pub verification: Verification,
    }
}

document! {
    // Delegated work.
    #[shape(name = "aocl_delegation", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Delegation {
        pub to: String as NON_BLANK,
        pub intent: String as NON_BLANK,
        pub status: String as NON_BLANK,
    }
}

document! {
    // `aocl.run.summary`
    #[shape(name = "aocl_run_summary", unknown = Kept)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RunSummary {
        pub run_id: String as NON_BLANK,
        /// The stack of the run.
        #[serde(default)]
        pub stack_id: String,
        pub layers_executed: Vec<String>,
        #[serde(default)]
        pub layers_bypassed: Vec<String>,
        #[serde(default)]
        pub branch_taken: Nullable<String>,
        #[serde(default, deserialize_with = "whole_millis")]
        pub timing_ms_total: u64 as NOT_NEGATIVE,
        #[serde(default)]
        pub delegations: Vec<Delegation>,
        #[serde(default)]
        pub verification: Nullable<Verification>,
        /// References to data that is too large to include.
        #[serde(default)]
        pub refs: Vec<String>,
        #[serde(default)]
        pub notes: Nullable<String>,
    }
}

fn layer_version() -> String {
    layer::VERSION.to_owned()
}

/// Other runners write fractions; parts of a millisecond are dropped.
fn whole_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let millis = f64::deserialize(deserializer)?;
    if millis < 0.0 {
        return Err(serde::de::Error::custom("a duration must not be negative"));
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
