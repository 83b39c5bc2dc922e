//! The ledger of a run: open, show, change, check and close it.

pub mod apply;
pub mod close;
pub(crate) mod new_run;
pub mod open;
pub mod reconcile;
pub mod repair;
pub mod show;
