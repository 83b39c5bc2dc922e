//! Assignments: a task given to one worker, with what it may change, spend and how it is judged.

pub mod issue;
pub mod show;
pub mod snapshot;
