//! Agent Orchestration Control Layers v0.1: the layers a request passes through, and what each records.

pub mod bundle;
pub mod intents;
pub mod layer;
pub mod payload;
pub mod shape;
pub mod stack;
pub mod trace;

pub use bundle::{Bundle, Replaced};
pub use intents::check_payload;
pub use layer::Layer;
pub use payload::{
    Branch, Bypass, ContextPatch, Control, Decision, Delegation, Digests, LayerEnter, LayerExit,
    LayerPayload, LayerRef, RunSummary, StackSelect, Verification, VerifyResult,
};
pub use stack::Stack;
