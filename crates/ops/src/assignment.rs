//! Assignments: a task for one worker, with its locks, its budget and its checks.

pub mod issue;
pub(crate) mod packet;
pub mod show;
pub(crate) mod snapshot;
