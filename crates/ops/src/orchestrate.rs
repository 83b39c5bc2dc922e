//! Orchestrators: one step applies an orchestrator's deltas, reconciles the ledger and issues its assignments.

mod next_actions;
mod program;
mod sending;
pub mod step;

pub use program::OrchestratorProgram;
