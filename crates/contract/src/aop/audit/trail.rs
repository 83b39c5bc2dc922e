//! Derives the audit records of a run from its events. The same events give the same records, byte for byte.

use std::collections::BTreeMap;

use super::checks::{self, Check};
use super::{
    AccessDecision, Actor, ActorRole, AuditVersion, BudgetStatus, Context, Governance, InputVersion, Payload,
    Record, RecordType, RollbackEvent, RollbackStatus, RoutingDecision, SessionSummary,
};
use crate::aop::effective;
use crate::aop::event::{Body, Event, Totals};
use crate::aop::report::response_of;
use crate::aop::response::Response;
use crate::aop::task::Task;
use crate::digest::uuid_for;
use crate::domain::attempt::{AttemptId, AttemptOutcome, AttemptState, Dispatch, NewAttempt};
use crate::domain::change::Change;
use crate::domain::failure_code::FailureCode;
use crate::domain::money::MicroUsd;
use crate::domain::task::TaskId;
use crate::domain::time::Timestamp;

/// The name of what is not about one TASK.
const SESSION: &str = "SESSION";
const ROUTER: &str = "VersionRouter";
const GUARD: &str = "GuardRailEngine";
const ORCHESTRATOR: &str = "Orchestrator";

/// One event of a run's log, as far as an audit trail needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrailEvent {
    pub event_id: String,
    pub at: Timestamp,
    pub what: AuditedEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuditedEvent {
    Change(Box<Change>),
    /// An AOP event about this task, and whether what it reports has failed.
    Aop {
        task: Option<TaskId>,
        event: Box<Event>,
        failed: bool,
    },
}

/// Follows the events of one run.
#[derive(Debug, Clone)]
pub struct Trail {
    session_id: String,
    tasks: BTreeMap<TaskId, TaskTrail>,
    attempts: BTreeMap<AttemptId, NewAttempt>,
}

/// What the events said about a task so far.
#[derive(Debug, Clone)]
struct TaskTrail {
    task_id: String,
    /// `None` if its TASK could not be read, so that it was sent as a prompt.
    message: Option<Box<Task>>,
    spent: MicroUsd,
    /// Whether the cost of an attempt is not known.
    is_cost_unknown: bool,
    /// The attempt that is or was last.
    attempt: u64,
    /// The code of the last failure.
    failure: Option<String>,
    alternatives_tried: Vec<String>,
}

impl Trail {
    /// The tasks of the run, each with its name in messages and its TASK.
    pub fn new(
        session_id: impl Into<String>,
        tasks: impl IntoIterator<Item = (TaskId, String, Option<Task>)>,
    ) -> Self {
        let told = |(id, task_id, message): (TaskId, String, Option<Task>)| {
            let attempt = message.as_ref().map_or(1, effective::attempt);
            let message = message.map(Box::new);
            let told = TaskTrail {
                task_id,
                message,
                spent: MicroUsd::default(),
                is_cost_unknown: false,
                attempt,
                failure: None,
                alternatives_tried: Vec::new(),
            };
            (id, told)
        };
        Self {
            session_id: session_id.into(),
            tasks: tasks.into_iter().map(told).collect(),
            attempts: BTreeMap::new(),
        }
    }

    /// The records of the next event of the run. Events must come in the order of the log.
    pub fn follow(&mut self, source: &TrailEvent) -> Vec<Record> {
        let drafts = self.drafts(&source.what);
        drafts.into_iter().enumerate().map(|(index, draft)| self.record(source, index, draft)).collect()
    }

    /// How many records the next event of the run gives.
    pub fn count(&mut self, source: &TrailEvent) -> usize {
        self.drafts(&source.what).len()
    }

    fn drafts(&mut self, what: &AuditedEvent) -> Vec<RecordDraft> {
        match what {
            AuditedEvent::Change(change) => self.changed(change),
            AuditedEvent::Aop { task, event, failed } => match &event.body {
                Body::RollbackInitiated(rollback) => {
                    let told = task.as_ref().and_then(|task| self.tasks.get(task));
                    let status = if *failed { RollbackStatus::Failed } else { RollbackStatus::Success };
                    let event = RollbackEvent {
                        trigger: rollback.trigger.clone(),
                        artifacts_rolled_back: rollback.artifacts_rolled_back.clone(),
                        status,
                    };
                    told.map(|told| rolled_back(told, event)).into_iter().collect()
                }
                Body::SessionFinalReport(report) => report.totals.as_ref().map(summary).into_iter().collect(),
                Body::Heartbeat(_)
                | Body::ProgressUpdate(_)
                | Body::PriorityEscalation(_)
                | Body::VersionFallback(_) => Vec::new(),
            },
        }
    }

    fn changed(&mut self, change: &Change) -> Vec<RecordDraft> {
        match change {
            Change::AttemptStarted { attempt, dispatch } => self.started(attempt, dispatch.as_deref()),
            Change::AttemptEnded { attempt_id, state, outcome } => self.ended(attempt_id, *state, outcome),
            Change::TaskCreated { .. }
            | Change::TaskMoved { .. }
            | Change::TaskClaimed { .. }
            | Change::TaskReleased { .. }
            | Change::TaskPrioritized { .. }
            | Change::TaskPinned { .. }
            | Change::DependencyAdded { .. }
            | Change::DependencyRemoved { .. }
            | Change::TaskDeleted { .. }
            | Change::AgentFocused { .. }
            | Change::ProjectAdded { .. }
            | Change::ProjectTrusted { .. }
            | Change::ProjectTrustRevoked { .. }
            | Change::TokenCreated { .. }
            | Change::TokenRevoked { .. }
            | Change::TokenUsed { .. }
            | Change::MemorySet { .. }
            | Change::MemoryPinned { .. }
            | Change::MemoryDeleted { .. }
            | Change::MemoryCollected { .. }
            | Change::ArtifactAdded { .. }
            | Change::RunSubmitted { .. }
            | Change::RunOwned { .. }
            | Change::RunCancelRequested { .. }
            | Change::RunMoved { .. }
            | Change::AttemptNamed { .. }
            | Change::AttemptRolledBack { .. }
            | Change::Halted { .. }
            | Change::HaltLifted { .. }
            | Change::ProgramStarted { .. }
            | Change::ProgramEnded { .. }
            | Change::LimitWindowSet { .. }
            | Change::LimitWindowEnded { .. }
            | Change::TaskWaitsForLimit { .. }
            | Change::TaskLimitWaitEnded { .. }
            | Change::Crew(_) => Vec::new(),
        }
    }

    fn started(&mut self, attempt: &NewAttempt, dispatch: Option<&Dispatch>) -> Vec<RecordDraft> {
        let Some(told) = self.tasks.get_mut(&attempt.task_id) else { return Vec::new() };
        self.attempts.insert(attempt.id.clone(), attempt.clone());
        let dispatch = dispatch.cloned().unwrap_or_default();
        let sent = |task: &Task| effective::for_attempt(task, attempt.number, attempt.alternative, &dispatch);
        let sent = told.message.as_deref().map(sent);
        told.attempt = sent.as_ref().map_or_else(|| number(attempt), effective::attempt);
        let routing = routing(told, attempt, sent.as_ref());
        let mut drafts = vec![routing];
        if let Some(sent) = sent {
            drafts.extend(checks::of_payload(&sent).map(|check| guard_rail(told, check)));
            drafts.push(dispatched(told, sent));
        }
        drafts
    }

    fn ended(&mut self, id: &AttemptId, state: AttemptState, outcome: &AttemptOutcome) -> Vec<RecordDraft> {
        let Some(attempt) = self.attempts.get(id) else { return Vec::new() };
        let Some(told) = self.tasks.get_mut(&attempt.task_id) else { return Vec::new() };
        let cost = outcome.cost.unwrap_or_default();
        told.spent = MicroUsd(told.spent.0.saturating_add(cost.0));
        told.is_cost_unknown |= outcome.known_cost().is_none();
        if state == AttemptState::Failed {
            told.failure.clone_from(&outcome.code);
        }
        let mut drafts = Vec::new();
        if let Some(report) = &outcome.report {
            let response = response_of(report, &self.session_id, &told.task_id);
            drafts.push(received(told, response));
        }
        if matches!(state, AttemptState::Succeeded | AttemptState::Failed) {
            let checks = checks::of_end(told.message.as_deref(), state, outcome, told.spent);
            drafts.extend(checks.into_iter().map(|check| guard_rail(told, check)));
        }
        drafts
    }

    fn record(&self, source: &TrailEvent, index: usize, draft: RecordDraft) -> Record {
        let parent = draft.message.as_ref().and_then(|task| task.task.parent_task_id.clone());
        Record {
            audit_record_id: uuid_for(&format!("{} {} {index}", source.event_id, draft.kind)),
            audit_version: AuditVersion::V1,
            timestamp: source.at,
            session_id: self.session_id.clone(),
            task_id: draft.task_id,
            record_type: draft.kind,
            actor: draft.actor,
            payload: draft.payload,
            context: Context {
                parent_task_id: parent,
                attempt: draft.attempt,
                correlation_id: self.session_id.clone(),
            },
            governance: draft.governance,
        }
    }
}

/// A record before it is identified.
struct RecordDraft {
    kind: RecordType,
    task_id: String,
    message: Option<Box<Task>>,
    attempt: u64,
    actor: Actor,
    payload: Payload,
    governance: Governance,
}

impl RecordDraft {
    fn about(
        told: &TaskTrail,
        kind: RecordType,
        actor: Actor,
        payload: Payload,
        governance: Governance,
    ) -> Self {
        let (task_id, message) = (told.task_id.clone(), told.message.clone());
        Self { kind, task_id, message, attempt: told.attempt, actor, payload, governance }
    }
}

fn number(attempt: &NewAttempt) -> u64 {
    u64::try_from(attempt.number).unwrap_or(1).max(1)
}

fn actor(name: &str, role: ActorRole) -> Actor {
    // A record names somebody; a TASK may have left its orchestrator blank.
    let name = if name.trim().is_empty() { ORCHESTRATOR } else { name };
    Actor { name: name.to_owned(), role, provider: None, model: None }
}

fn allowed() -> Governance {
    Governance {
        guard_rails_applied: Vec::new(),
        budget_status: None,
        access_decision: AccessDecision::Allowed,
        reason_code: None,
    }
}

fn max_cost(told: &TaskTrail) -> Option<MicroUsd> {
    told.message.as_ref().and_then(|task| effective::budget(task).cost_max)
}

/// `None` where nobody knows whether the budget was kept, because an attempt did not say what it cost.
fn budget_status(told: &TaskTrail) -> Option<BudgetStatus> {
    let status = BudgetStatus::of(max_cost(told), told.spent);
    (!told.is_cost_unknown || !status.within_budget).then_some(status)
}

fn dispatched(told: &TaskTrail, sent: Task) -> RecordDraft {
    let governance = Governance { budget_status: budget_status(told), ..allowed() };
    let actor = actor(&sent.session.orchestrator, ActorRole::Orchestrator);
    RecordDraft::about(
        told,
        RecordType::TaskDispatched,
        actor,
        Payload::TaskDispatched(Box::new(sent)),
        governance,
    )
}

fn routing(told: &mut TaskTrail, attempt: &NewAttempt, sent: Option<&Task>) -> RecordDraft {
    let target = sent.map(|task| &task.target);
    let model = attempt.model.clone().or_else(|| target.map(|target| target.model.clone()));
    let agent = target.map(|target| target.agent_name.clone());
    let routed_to = match (attempt.executor.as_str(), agent) {
        ("aop-stdio" | "shell", Some(agent)) => agent,
        (executor, _) => executor.to_owned(),
    };
    let is_alternative = attempt.alternative.is_some();
    let fallback_reason = told.failure.clone().filter(|_| is_alternative);
    let tried = told.alternatives_tried.clone();
    if let Some(target) = target.filter(|_| is_alternative) {
        let name = format!("{}/{}", target.provider, target.model);
        if !told.alternatives_tried.contains(&name) {
            told.alternatives_tried.push(name);
        }
    }
    let decision = RoutingDecision {
        input_version: if sent.is_some() { InputVersion::V2 } else { InputVersion::Unstructured },
        routed_to,
        model_selected: model,
        fallback_triggered: is_alternative,
        fallback_reason: fallback_reason.clone(),
        alternatives_tried: tried,
    };
    let governance = Governance { reason_code: fallback_reason, ..allowed() };
    let router = actor(ROUTER, ActorRole::Router);
    RecordDraft::about(
        told,
        RecordType::RoutingDecision,
        router,
        Payload::RoutingDecision(decision),
        governance,
    )
}

fn received(told: &TaskTrail, response: Response) -> RecordDraft {
    let governance = Governance {
        guard_rails_applied: vec!["FINAL_SIGNAL".to_owned(), "MINIMAL_REPORT".to_owned()],
        budget_status: budget_status(told),
        ..allowed()
    };
    let actor = Actor {
        provider: Some(response.agent.provider),
        model: Some(response.agent.model.clone()),
        ..actor(&response.agent.name, ActorRole::Executor)
    };
    let payload = Payload::ResponseReceived(Box::new(response));
    RecordDraft::about(told, RecordType::ResponseReceived, actor, payload, governance)
}

fn guard_rail(told: &TaskTrail, check: Check) -> RecordDraft {
    let governance = Governance {
        guard_rails_applied: vec![check.0.check_type.as_str().to_owned()],
        budget_status: None,
        access_decision: if check.is_failed() { AccessDecision::Denied } else { AccessDecision::Allowed },
        reason_code: check.0.error_code.clone(),
    };
    let guard = actor(GUARD, ActorRole::Governance);
    RecordDraft::about(told, RecordType::GuardRailCheck, guard, Payload::GuardRailCheck(check.0), governance)
}

fn rolled_back(told: &TaskTrail, event: RollbackEvent) -> RecordDraft {
    let failed = event.status == RollbackStatus::Failed;
    let governance = Governance {
        access_decision: AccessDecision::NotApplicable,
        reason_code: failed.then(|| FailureCode::RollbackFailed.as_str().to_owned()),
        ..allowed()
    };
    let by = actor(ORCHESTRATOR, ActorRole::Orchestrator);
    RecordDraft::about(told, RecordType::RollbackEvent, by, Payload::RollbackEvent(event), governance)
}

fn summary(totals: &Totals) -> RecordDraft {
    let summary = SessionSummary {
        total_tasks: totals.total_tasks,
        completed: totals.completed,
        failed: totals.failed,
        total_cost_usd: totals.total_cost_usd.unwrap_or_default(),
        total_duration_seconds: totals.total_duration_seconds.unwrap_or_default(),
        agents_used: totals.agents_used.clone(),
        role_assignments: totals.role_assignments.clone(),
    };
    RecordDraft {
        kind: RecordType::SessionSummary,
        task_id: SESSION.to_owned(),
        message: None,
        attempt: 1,
        actor: actor(ORCHESTRATOR, ActorRole::Orchestrator),
        payload: Payload::SessionSummary(summary),
        governance: Governance { access_decision: AccessDecision::NotApplicable, ..allowed() },
    }
}
