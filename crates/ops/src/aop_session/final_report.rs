//! What became of a session: totals, the delegation graph, each TASK, and what it cost.

use std::collections::BTreeMap;

use contract::aop::Code;
use contract::aop::event::{Body, RoleAssignment, SessionFinalReport, TaskOutcome, Totals};
use contract::aop::response::{FinalSignal, State};
use contract::aop::task::Task as Message;
use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::json::Value;

use super::costs::{cost, costs, whole_cost};
use super::delegated_costs::{DelegatedCost, DelegatedCosts};
use super::graph::graph;
use super::session_status::{status, word};
use super::{Whole, trail};
use crate::aop_event::AopEvent;
use crate::context::Context;
use crate::error::Result;
use crate::run::show::message_of;

/// The newest work on one TASK of a session.
pub(super) struct Node<'w> {
    pub(super) message: Message,
    pub(super) task: &'w Task,
    pub(super) attempts: &'w [Attempt],
    /// Of its run.
    pub(super) run_depth: u32,
    pub(super) delegated: DelegatedCost,
}

/// The report of a session as it is now.
pub(crate) fn of(whole: &Whole) -> SessionFinalReport {
    let runs: Vec<(&Run, &[(Task, Vec<Attempt>)])> =
        whole.runs.iter().map(|(run, tasks)| (run, tasks.as_slice())).collect();
    of_runs(&runs, &whole.delegated)
}

/// The event that a run of a session leaves when it ends. `tasks` are its own, as they are about to be written, and
/// `storage_path` is where audit files are, if they are written.
pub fn event(
    cx: &mut Context,
    run: &Run,
    tasks: &[(Task, Vec<Attempt>)],
    storage_path: Option<&str>,
) -> Result<Option<AopEvent>> {
    let Some(session_id) = &run.asked.session_id else { return Ok(None) };
    let mut whole = super::whole(cx, session_id)?;
    for (known, of_run) in &mut whole.runs {
        if known.asked.id == run.asked.id {
            *of_run = tasks.to_vec();
        }
    }
    let mut report = of(&whole);
    if let Some(storage_path) = storage_path {
        let runs = whole.runs.iter().map(|(run, tasks)| (run, tasks.iter().map(|(task, _)| task).collect()));
        // The event itself gives the last one, the summary. A trail that cannot be read must not keep the run from its end.
        let count = trail::count(cx, runs).ok().map(|count| count + 1);
        report.audit_trail = Some(trail::told(storage_path, count));
    }
    let signal = report.session_status.as_ref().map_or("SUCCESS", word);
    let totals = report.totals.clone().unwrap_or_default();
    let told = format!("{signal}, {} of {} TASKs completed", totals.completed, totals.total_tasks);
    Ok(Some(AopEvent { body: Body::SessionFinalReport(Box::new(report)), told, more: Value::Null }))
}

/// The same of runs with their tasks, oldest first.
fn of_runs(runs: &[(&Run, &[(Task, Vec<Attempt>)])], delegated: &DelegatedCosts) -> SessionFinalReport {
    let nodes = nodes(runs, delegated);
    let ended: Vec<FinalSignal> = nodes.iter().filter_map(|node| signal(node.task)).collect();
    let outcomes: Vec<TaskOutcome> = nodes.iter().map(outcome).collect();
    SessionFinalReport {
        session_status: Some(status(nodes.len(), &ended)),
        totals: Some(totals(&nodes, &outcomes)),
        delegation_graph: Some(graph(&nodes)),
        tasks: outcomes.into_iter().take(limits::RUN_TASKS_LISTED_MAX).collect(),
        cost_summary: Some(costs(&nodes)),
        audit_trail: None,
        event_counts: BTreeMap::new(),
    }
}

/// The newest task of each TASK id, in the order in which they first came.
fn nodes<'w>(runs: &[(&'w Run, &'w [(Task, Vec<Attempt>)])], delegated: &DelegatedCosts) -> Vec<Node<'w>> {
    let mut nodes: Vec<Node<'w>> = Vec::new();
    for (run, tasks) in runs {
        for (task, attempts) in *tasks {
            let message = message_of(task).cloned().and_then(|it| serde_json::from_value::<Message>(it).ok());
            let Some(message) = message else { continue };
            let delegated = delegated.get(&task.id).copied().unwrap_or_default();
            let node = Node { message, task, attempts, run_depth: run.asked.depth, delegated };
            let same = nodes.iter().position(|known| known.message.task.task_id == node.message.task.task_id);
            match same {
                Some(index) => nodes[index] = node,
                None => nodes.push(node),
            }
        }
    }
    nodes
}

/// The state of a task in words of AOP.
pub(crate) fn state(task: &Task) -> State {
    let is_skipped =
        || task.blocked_reason.as_ref().is_some_and(|it| it.starts_with(Code::DependencyFailed.as_str()));
    match task.status {
        Status::Todo | Status::Blocked => State::Pending,
        Status::InProgress => State::InProgress,
        Status::Done => State::Completed,
        Status::Failed => State::Failed,
        Status::Canceled if is_skipped() => State::Skipped,
        Status::Canceled => State::Aborted,
    }
}

/// How it ended; `None` while it has not.
pub(super) fn signal(task: &Task) -> Option<FinalSignal> {
    match task.status {
        Status::Todo | Status::Blocked | Status::InProgress => None,
        Status::Done => Some(FinalSignal::Success),
        Status::Failed => Some(FinalSignal::Failure),
        Status::Canceled => Some(FinalSignal::Aborted),
    }
}

fn outcome(node: &Node<'_>) -> TaskOutcome {
    let last = node.attempts.last().and_then(|last| last.outcome.as_ref());
    let code = last.and_then(|outcome| outcome.code.clone());
    let skipped = (state(node.task) == State::Skipped).then(|| Code::DependencyFailed.as_str().to_owned());
    TaskOutcome {
        task_id: node.message.task.task_id.clone(),
        state: state(node.task),
        final_signal: signal(node.task),
        agent: Some(node.message.target.agent_name.clone()),
        attempts: Some(node.attempts.len() as u64),
        error_code: code.filter(|_| node.task.status == Status::Failed).or(skipped),
        actual_cost_usd: whole_cost(node).map(MicroUsd::dollars),
        duration_seconds: Some(seconds(node)),
        extensions: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a session are far below 2^53")]
fn seconds(node: &Node<'_>) -> f64 {
    let took = node.attempts.iter().filter_map(|it| Some(it.ended_at?.since(it.started_at).as_millis()));
    took.sum::<u128>() as f64 / 1000.0
}

fn totals(nodes: &[Node<'_>], outcomes: &[TaskOutcome]) -> Totals {
    let count = |wanted: State| outcomes.iter().filter(|outcome| outcome.state == wanted).count() as u64;
    let mut agents: Vec<String> = nodes.iter().map(|node| node.message.target.agent_name.clone()).collect();
    agents.sort();
    agents.dedup();
    let mut roles: Vec<RoleAssignment> = Vec::new();
    for node in nodes {
        let target = &node.message.target;
        let role = RoleAssignment {
            agent: target.agent_name.clone(),
            role: target.role,
            model: Some(target.model.clone()),
            extensions: None,
        };
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    Totals {
        total_tasks: nodes.len() as u64,
        completed: count(State::Completed),
        failed: count(State::Failed),
        // The sum of no floating-point numbers is -0.
        total_cost_usd: Some(
            nodes.iter().filter_map(cost).map(MicroUsd::dollars).fold(0.0, |sum, cost| sum + cost),
        ),
        total_duration_seconds: Some(nodes.iter().map(seconds).sum()),
        agents_used: agents,
        role_assignments: roles,
        extensions: None,
    }
}
