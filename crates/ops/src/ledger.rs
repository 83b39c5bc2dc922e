//! The ledger of a run: reading it, changing it by deltas, and asking whether it agrees with itself.

pub mod apply;
pub mod close;
pub mod open;
pub mod show;
