//! Every change of durable state. The log holds these; replaying them rebuilds the tables.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::artifact::NewArtifact;
use super::attempt::{AttemptId, AttemptOutcome, AttemptState, Dispatch, NewAttempt};
use super::check::TaskChecks;
use super::crew::CrewChange;
use super::epoch::WritProgram;
use super::limit_window::LimitWindow;
use super::memory::{MemoryScope, NewMemory};
use super::pins::Digests;
use super::process::ProcessIdentity;
use super::reason::Reason;
use super::rollback::Rollback;
use super::run::{NewRun, Owner, RunId, RunState};
use super::status::{Evidence, Status};
use super::task::{Claim, PlanPart, TaskId};
use super::token::{NewToken, TokenId};
use super::trust::NewTrust;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one change at a time is made, written and dropped")]
pub enum Change {
    TaskCreated {
        task_id: TaskId,
        title: String,
        description: String,
        priority: i64,
        project_id: Option<String>,
        part: Option<PlanPart>,
        depends_on: Vec<TaskId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checks: Option<TaskChecks>,
    },
    TaskMoved {
        task_id: TaskId,
        from: Status,
        to: Status,
        evidence: Option<Evidence>,
        reason: Option<Reason>,
    },
    TaskClaimed {
        task_id: TaskId,
        claim: Claim,
    },
    TaskReleased {
        task_id: TaskId,
    },
    TaskPrioritized {
        task_id: TaskId,
        priority: i64,
    },
    /// The files that the checks of a plan's task use, before the work on it begins.
    TaskPinned {
        task_id: TaskId,
        files: Digests,
    },
    DependencyAdded {
        task_id: TaskId,
        depends_on: TaskId,
    },
    DependencyRemoved {
        task_id: TaskId,
        depends_on: TaskId,
    },
    /// The task was deleted with its dependencies, artifacts and memories.
    TaskDeleted {
        task_id: TaskId,
    },
    AgentFocused {
        agent: String,
        /// `None` if there is no focus.
        task_id: Option<TaskId>,
        project_id: Option<String>,
    },
    ProjectAdded {
        project_id: String,
        name: String,
    },
    /// A person allowed the commands of a project's `.writ/`.
    ProjectTrusted {
        trust: NewTrust,
    },
    ProjectTrustRevoked {
        directory: String,
    },
    /// A person created an access token. Its secret is not in the log.
    TokenCreated {
        token: NewToken,
    },
    TokenRevoked {
        token_id: TokenId,
    },
    /// A decision was made with a token.
    TokenUsed {
        token_id: TokenId,
    },
    MemorySet {
        memory: NewMemory,
    },
    MemoryPinned {
        #[serde(flatten)]
        place: MemoryScope,
        key: String,
        pinned: bool,
    },
    MemoryDeleted {
        #[serde(flatten)]
        place: MemoryScope,
        key: String,
    },
    /// Expired memories, by their numbers.
    MemoryCollected {
        ids: Vec<i64>,
    },
    ArtifactAdded {
        artifact: NewArtifact,
    },
    RunSubmitted {
        run: NewRun,
    },
    /// An engine took ownership of the run. Renewals of its lease are not events.
    RunOwned {
        run_id: RunId,
        owner: Owner,
    },
    RunCancelRequested {
        run_id: RunId,
        reason: Option<Reason>,
    },
    RunMoved {
        run_id: RunId,
        from: RunState,
        to: RunState,
        result: Option<Value>,
    },
    AttemptStarted {
        attempt: NewAttempt,
        /// Only for tasks that were submitted as a TASK. Events of older versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dispatch: Option<Box<Dispatch>>,
    },
    /// The executor of an attempt named its conversation.
    AttemptNamed {
        attempt_id: AttemptId,
        agent_session: String,
    },
    AttemptEnded {
        attempt_id: AttemptId,
        state: AttemptState,
        outcome: Box<AttemptOutcome>,
    },
    /// A rollback or redo began or ended. `attempt_id` is the newest attempt that it covers.
    AttemptRolledBack {
        task_id: TaskId,
        attempt_id: AttemptId,
        rollback: Rollback,
    },
    /// A person halted writ: a new epoch begins, and what began before can write nothing any more.
    Halted {
        epoch: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        by: String,
    },
    /// A person lifted a halt, in a new epoch.
    HaltLifted {
        epoch: i64,
        by: String,
    },
    /// A program of writ began to work without a run of its own.
    ProgramStarted {
        program: WritProgram,
    },
    ProgramEnded {
        process: ProcessIdentity,
    },
    /// A provider refused a resource, or work with it is taken up again.
    LimitWindowSet {
        window: Box<LimitWindow>,
    },
    /// A limit window is over or forgotten, or somebody cleared it.
    LimitWindowEnded {
        resource: String,
        /// Who cleared it; `None` if it ended by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A task waits for a limit window.
    TaskWaitsForLimit {
        task_id: TaskId,
        resource: String,
    },
    TaskLimitWaitEnded {
        task_id: TaskId,
    },
    /// A change of a crew, under the tag `crew`.
    Crew(CrewChange),
}

impl Change {
    pub const ATTEMPT_STARTED: &'static str = "attempt_started";
    /// The kind of the event with which a priority changes.
    pub const TASK_PRIORITIZED: &'static str = "task_priority_changed";
    pub const ATTEMPT_ENDED: &'static str = "attempt_ended";
    pub const RUN_CANCEL_REQUESTED: &'static str = "run_cancel_requested";

    /// The event kind in the agent contract.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::TaskCreated { .. } => "task_created",
            Change::TaskMoved { .. } => "task_status",
            Change::TaskClaimed { .. } => "task_claimed",
            Change::TaskReleased { .. } => "task_released",
            Change::TaskPrioritized { .. } => Self::TASK_PRIORITIZED,
            Change::TaskPinned { .. } => "task_pinned",
            Change::DependencyAdded { .. } => "task_dependency_added",
            Change::DependencyRemoved { .. } => "task_dependency_removed",
            Change::TaskDeleted { .. } => "task_deleted",
            Change::AgentFocused { .. } => "agent_focus",
            Change::ProjectAdded { .. } => "project_created",
            Change::ProjectTrusted { .. } => "project_trusted",
            Change::ProjectTrustRevoked { .. } => "project_trust_revoked",
            Change::TokenCreated { .. } => "token_created",
            Change::TokenRevoked { .. } => "token_revoked",
            Change::TokenUsed { .. } => "token_used",
            Change::MemorySet { .. } => "memory_upserted",
            Change::MemoryPinned { .. } => "memory_pinned",
            Change::MemoryDeleted { .. } => "memory_delete",
            Change::MemoryCollected { .. } => "memory_gc",
            Change::ArtifactAdded { .. } => "artifact_added",
            Change::RunSubmitted { .. } => "run_submitted",
            Change::RunOwned { .. } => "run_owned",
            Change::RunCancelRequested { .. } => Self::RUN_CANCEL_REQUESTED,
            Change::RunMoved { .. } => "run_status",
            Change::AttemptStarted { .. } => Self::ATTEMPT_STARTED,
            Change::AttemptNamed { .. } => "attempt_named",
            Change::AttemptEnded { .. } => Self::ATTEMPT_ENDED,
            Change::AttemptRolledBack { .. } => "attempt_rolled_back",
            Change::Halted { .. } => "halted",
            Change::HaltLifted { .. } => "halt_lifted",
            Change::ProgramStarted { .. } => "program_started",
            Change::ProgramEnded { .. } => "program_ended",
            Change::LimitWindowSet { .. } => "limit_window",
            Change::LimitWindowEnded { .. } => "limit_window_ended",
            Change::TaskWaitsForLimit { .. } => "task_waits_for_limit",
            Change::TaskLimitWaitEnded { .. } => "task_limit_wait_ended",
            Change::Crew(change) => change.kind(),
        }
    }

    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Change::TaskCreated { task_id, .. }
            | Change::TaskMoved { task_id, .. }
            | Change::TaskClaimed { task_id, .. }
            | Change::TaskReleased { task_id }
            | Change::TaskPrioritized { task_id, .. }
            | Change::TaskPinned { task_id, .. }
            | Change::DependencyAdded { task_id, .. }
            | Change::DependencyRemoved { task_id, .. }
            | Change::AttemptRolledBack { task_id, .. }
            | Change::TaskWaitsForLimit { task_id, .. }
            | Change::TaskLimitWaitEnded { task_id }
            | Change::TaskDeleted { task_id } => Some(task_id),
            Change::AgentFocused { task_id, .. } => task_id.as_ref(),
            Change::AttemptStarted { attempt, .. } => Some(&attempt.task_id),
            Change::ArtifactAdded { artifact } => Some(&artifact.task_id),
            Change::Crew(change) => change.task_id(),
            Change::ProjectAdded { .. }
            | Change::ProjectTrusted { .. }
            | Change::ProjectTrustRevoked { .. }
            | Change::TokenCreated { .. }
            | Change::TokenRevoked { .. }
            | Change::TokenUsed { .. }
            | Change::MemorySet { .. }
            | Change::MemoryPinned { .. }
            | Change::MemoryDeleted { .. }
            | Change::MemoryCollected { .. }
            | Change::RunSubmitted { .. }
            | Change::RunOwned { .. }
            | Change::RunCancelRequested { .. }
            | Change::RunMoved { .. }
            | Change::Halted { .. }
            | Change::HaltLifted { .. }
            | Change::ProgramStarted { .. }
            | Change::ProgramEnded { .. }
            | Change::LimitWindowSet { .. }
            | Change::LimitWindowEnded { .. }
            | Change::AttemptNamed { .. }
            | Change::AttemptEnded { .. } => None,
        }
    }
}
