//! An attempt: one execution of a task by a child process, recorded before the child is started.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::CheckSeen;
use super::id::{Attempt as AttemptKind, Id};
use super::money::MicroUsd;
use super::outside::Outside;
use super::run::{Owner, RunId};
use super::task::TaskId;
use super::time::Timestamp;
use crate::shape::words;

pub type AttemptId = Id<AttemptKind>;

words! {
    AttemptState {
        /// In the journal; the child may or may not have started.
        Started = "started",
        Succeeded = "succeeded",
        Failed = "failed",
        /// Ended by writ before it was finished: canceled, interrupted.
        Interrupted = "interrupted",
        /// The engine died and nothing proves what happened. A person decides.
        Unknown = "unknown",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewAttempt {
    pub id: AttemptId,
    pub task_id: TaskId,
    pub run_id: RunId,
    /// Counted from 1 for each task.
    pub number: i64,
    pub executor: String,
    pub owner: Owner,
}

/// How an attempt ended, and what writ observed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// An AOP error code, if the attempt failed.
    pub code: Option<String>,
    /// What the code leaves open: `check_failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub message: String,
    pub stdout_digest: Option<String>,
    pub stderr_digest: Option<String>,
    pub checks: Vec<CheckSeen>,
    pub cost: Option<MicroUsd>,
    pub tokens: Option<i64>,
    /// Processes that outlived the child and were killed by writ.
    pub leftovers_killed: u32,
    /// How long the executor asks writ to wait before a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// From whom the task's locks were taken before it got them, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_over: Option<String>,
    /// What changed outside the task's scope, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    #[serde(flatten)]
    pub begun: NewAttempt,
    pub state: AttemptState,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<Outcome>,
}
