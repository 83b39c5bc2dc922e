//! An attempt: one execution of a task by a child process, recorded before the child is started.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::CheckSeen;
use super::id::{Attempt as AttemptKind, Id};
use super::money::MicroUsd;
use super::network::Visit;
use super::outside::Outside;
use super::priority::Priority;
use super::reason::Warning;
use super::report::{CheckpointSeen, ExecutorReport};
use super::rollback::Rollback;
use super::run::{Owner, RunId};
use super::status::Status;
use super::task::TaskId;
use super::time::Timestamp;
use crate::domain::report::FinalSignal;
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
    /// The model that the executor was told to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which of the task's alternatives it uses, counted from 0; `None` for the task's own executor and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<u32>,
    /// The executor's own name for its conversation: the one it goes on with, and then the one it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    pub owner: Owner,
}

/// Whether a task has finally failed, by its status and its last attempt. One that a critical error aborted has, too.
pub fn has_failed(status: Status, last: Option<AttemptState>) -> bool {
    match status {
        Status::Failed => true,
        Status::Canceled => last == Some(AttemptState::Failed),
        Status::Todo | Status::InProgress | Status::Blocked | Status::Done => false,
    }
}

/// How the TASK that an attempt gets differs from the one that was submitted. Number and alternative are its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dispatch {
    /// The priority, where it was changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The model that goes with that priority, where one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a later attempt has to know about the earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

/// How an attempt ended, and what writ observed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AttemptOutcome {
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
    /// How the cost is known. `None` if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_basis: Option<CostBasis>,
    /// Processes that outlived the child and were killed by writ.
    pub leftovers_killed: u32,
    /// How its processes were confined: `namespace` is `on`, `off` or `refused: …`. Empty if none was started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub confinement: BTreeMap<String, String>,
    /// What its processes reached or tried to reach through the proxy of their sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Visit>,
    /// The executor's own name for its conversation, with which it can go on in a later attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// What that conversation has used with all its attempts, where its executor reports such sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_total: Option<SessionTotal>,
    /// The rate limit or usage window that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<Limited>,
    /// The signs of life that it missed where it was allowed to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silences: Option<Silences>,
    /// How long after its timeout it ended, where it was allowed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<u64>,
    /// How long the executor asks writ to wait before a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// From whom the task's locks were taken before it got them, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_over: Option<String>,
    /// What changed outside the task's scope, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// What was kept of its scope before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Taken>,
    /// How it ended in the words of AOP, where the state does not say it: `PARTIAL_SUCCESS` or `ABORTED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_signal: Option<FinalSignal>,
    /// What its executor reported, and where that differs from what writ saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<ExecutorReport>>,
    /// The checkpoints of its TASK, as writ saw them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointSeen>,
    /// What the next engine decided about it, if its own engine died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What people should know about it although it did not fail because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What was decided about an attempt whose engine died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// `verified`, `rerun` or `parked`.
    pub decision: String,
    /// Why, and what became of its files.
    pub reason: String,
    /// How many paths were brought back to what they were before it began. `None` if nothing was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<u64>,
}

/// What a conversation has used since it began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionTotal {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_output: Option<u64>,
}

/// Silences of an executor that were longer than its heartbeat allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Silences {
    /// How often as many beats were missed in a row as may be.
    pub windows: u32,
    pub longest_ms: u64,
}

/// How the cost of an attempt is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum CostBasis {
    /// The executor said it.
    Reported,
    /// Its tokens, at the price that the configuration has for the model since this day.
    Computed { model: String, as_of: String },
    /// Its executor uses no model.
    NoModel,
    /// It was never started.
    NotStarted,
}

impl CostBasis {
    /// Whether nothing can have been spent.
    pub fn is_free(&self) -> bool {
        match self {
            CostBasis::NoModel | CostBasis::NotStarted => true,
            CostBasis::Reported | CostBasis::Computed { .. } => false,
        }
    }
}

impl AttemptOutcome {
    /// What it cost, if that is known. Without a report it is not: only what uses no model is free.
    pub fn known_cost(&self) -> Option<MicroUsd> {
        self.cost.or_else(|| self.is_free().then_some(MicroUsd(0)))
    }

    pub fn known_tokens(&self) -> Option<i64> {
        self.tokens.or_else(|| self.is_free().then_some(0))
    }

    fn is_free(&self) -> bool {
        self.cost_basis.as_ref().is_some_and(CostBasis::is_free)
    }
}

/// A resource of a model's provider that is used up for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limited {
    /// What is limited: the executor, and the model if only that one is.
    pub resource: String,
    /// When it can be used again, as far as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// In the provider's words.
    pub reason: String,
}

/// What a snapshot took in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    pub files: u64,
    /// Bytes that were not in the content store before.
    pub new_bytes: u64,
    /// Files whose blocks are shared with the workspace, and files that had to be copied.
    #[serde(default)]
    pub cloned: u64,
    #[serde(default)]
    pub copied: u64,
    /// Some of the paths that could not be taken in, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_taken: Vec<String>,
    #[serde(default)]
    pub not_taken_more: u64,
    /// What kept paths out that belong in it: the disk is full, a device failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Why there is no snapshot at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What a document asked for that has no effect, and what was written for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Taken {
    /// Whether a rollback could not bring everything back.
    pub fn is_partial(&self) -> bool {
        self.failed.is_some() || !self.not_taken.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    #[serde(flatten)]
    pub begun: NewAttempt,
    pub state: AttemptState,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<AttemptOutcome>,
    /// The last rollback or redo whose newest attempt this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
}
