//! Orchestrators: one step applies an orchestrator's deltas, reconciles the ledger and issues its assignments.

mod program;
pub mod step;

pub use program::Program;
