//! Budgets: the limit of a run, what is reserved for assigned tasks, and what is spent.

pub mod set;
pub mod show;
