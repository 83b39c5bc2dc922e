//! A run: one submitted document and its execution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::environment::AuthorEnvironment;
use super::id::{Id, Run as RunKind};
use super::priority::Priority;
use super::process::ProcessIdentity;
use super::task::TaskId;
use super::time::{Lease, Timestamp};
use crate::domain::plan::Plan;
use crate::shape::words;

pub type RunId = Id<RunKind>;

words! {
    RunState {
        /// Accepted and stored; no engine has taken it yet.
        Submitted = "submitted",
        Running = "running",
        /// Interrupted, or parked because a person must decide. Can be continued.
        Stopped = "stopped",
        Done = "done",
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl RunState {
    /// Ended finally, with a result that is replayed. A stopped run has not ended.
    pub fn is_terminal(self) -> bool {
        matches!(self, RunState::Done | RunState::Failed | RunState::Canceled)
    }

    /// What is said of a run in this state: the run `has failed`.
    pub fn said(self) -> &'static str {
        match self {
            RunState::Submitted => "is submitted",
            RunState::Running => "is running",
            RunState::Stopped => "is stopped",
            RunState::Done => "is done",
            RunState::Failed => "has failed",
            RunState::Canceled => "was canceled",
        }
    }
}

words! {
    /// The state of a run as people and programs see it: also whether anything works it.
    ShownState {
        Submitted = "submitted",
        Running = "running",
        /// Its engine is dead. The next engine that takes the run continues it.
        Interrupted = "interrupted",
        Stopped = "stopped",
        Done = "done",
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl From<RunState> for ShownState {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Submitted => ShownState::Submitted,
            RunState::Running => ShownState::Running,
            RunState::Stopped => ShownState::Stopped,
            RunState::Done => ShownState::Done,
            RunState::Failed => ShownState::Failed,
            RunState::Canceled => ShownState::Canceled,
        }
    }
}

impl ShownState {
    /// The stored state of runs that are shown this way.
    pub fn stored(self) -> RunState {
        match self {
            ShownState::Submitted => RunState::Submitted,
            ShownState::Running | ShownState::Interrupted => RunState::Running,
            ShownState::Stopped => RunState::Stopped,
            ShownState::Done => RunState::Done,
            ShownState::Failed => RunState::Failed,
            ShownState::Canceled => RunState::Canceled,
        }
    }
}

words! {
    /// What kind of document was submitted.
    DocumentKind {
        Plan = "plan",
        AopTask = "aop_task",
        AeeTask = "aee_task",
        /// Not run by an engine: the ledger of a crew, whose tasks are issued as assignments.
        Ledger = "ledger",
    }
}

/// What was submitted, by whom, and where. It never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewRun {
    pub id: RunId,
    /// Shared by every envelope of the run. An AEE task brings its own.
    pub corr: String,
    /// The id of the originating request envelope; every event of the run replies to it.
    pub origin_id: String,
    pub kind: DocumentKind,
    pub objective: String,
    /// An absolute path.
    pub workspace: String,
    /// The normalized plan; empty if the document is answered without one. A run that was read from the store has no
    /// tasks here: each is stored by itself, and the run's row is read and written often.
    pub plan: Plan,
    /// The highest priority in the plan, where the tasks are not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_priority: Option<Priority>,
    /// The originating AEE envelope's intent, payload and requirements, if there was one.
    pub intent: Option<Intent>,
    pub requested_by: String,
    /// A run started from inside another is one deeper.
    pub depth: u32,
    pub parent_run: Option<RunId>,
    /// The task of the parent run that started it: its locks do not conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The digest of the submitted bytes.
    pub document_digest: String,
    /// The environment in which its checks run: the submitter's. Runs of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<AuthorEnvironment>,
    /// The AOP session that its TASKs belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What its document was accepted with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
}

/// Something about an accepted document that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunWarning {
    /// Such as `E_PAYLOAD_SIZE_WARNING` or `VERSION_FALLBACK`.
    pub code: String,
    /// A JSON path in the document.
    pub path: String,
    pub message: String,
}

impl Run {
    /// What is shown as its state, if `is_worked` says whether a living engine works it. Nobody but its crew works the
    /// run of a ledger.
    pub fn shown_state(&self, is_worked: bool) -> ShownState {
        match self.state {
            RunState::Running if !is_worked && self.asked.kind != DocumentKind::Ledger => {
                ShownState::Interrupted
            }
            state => ShownState::from(state),
        }
    }
}

impl NewRun {
    /// The highest priority in its plan.
    pub fn priority(&self) -> Priority {
        let highest = || self.plan.tasks.iter().map(|task| task.priority).max();
        self.plan_priority.or_else(highest).unwrap_or_default()
    }

    /// What is stored as the run: everything but its tasks.
    #[must_use]
    pub fn without_tasks(&self) -> Self {
        let mut head = self.clone();
        if !self.plan.tasks.is_empty() {
            head.plan_priority = Some(self.priority());
            head.plan.tasks.clear();
            // An envelope brings the same tasks in its payload. The event of the request keeps them.
            let payload = head.intent.as_mut().and_then(|intent| intent.payload.as_object_mut());
            payload.map(|fields| fields.remove("plan"));
        }
        head
    }
}

/// What an AEE task requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    pub name: String,
    pub from: String,
    pub payload: Value,
    pub requires: Value,
}

/// The engine that works a run.
pub type Owner = ProcessIdentity;

/// A run as the store knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    #[serde(flatten)]
    pub asked: NewRun,
    pub state: RunState,
    pub owner: Option<Owner>,
    pub owner_lease: Option<Lease>,
    pub cancel_requested: bool,
    /// The answer, once the run has ended.
    pub result: Option<Value>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
