//! Makes the world match the store: the control pipeline, the scheduler, supervised executors, recovery.

pub mod agent_program;
pub mod ancestor;
pub mod audit_files;
pub mod disk;
pub mod git;
pub mod host;
pub mod index;
pub mod inside;
pub mod launcher;
pub mod looping;
pub mod observer;
pub mod program;
pub mod sandbox;
pub mod scheduler;
pub mod settings;
pub mod snapshots;
pub mod supervisor;
pub mod transcript;
pub mod verify;
pub mod worker;
pub mod worklog;
pub mod worktree;

mod beats;
mod claimed_file;
mod dispatcher;
mod drive;
mod executor;
mod pipeline;
mod progress_log;
mod recovery;
mod regular_file;
mod remove_tree;
mod walk;

pub use drive::{DriveEnd, drive, probe};
pub use executor::{Configured, ExecutorKind, Executors, PLACEHOLDERS, Permissions};
pub use observer::{Observer, TaskProgress};
pub use settings::{Settings, StopSignal};
