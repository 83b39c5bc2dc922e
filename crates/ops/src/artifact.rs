//! Artifacts: the files that belong to tasks, by their paths.

pub mod list;
