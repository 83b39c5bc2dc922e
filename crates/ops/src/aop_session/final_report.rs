//! What became of a session: totals, the delegation graph, each TASK, and what it cost.

use std::collections::BTreeMap;

use contract::aop::event::{Body, RoleAssignment, SessionFinalReport, TaskOutcome, Totals};
use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::json::Value;

use super::costs::{costs, total, whole_cost};
use super::delegated_costs::DelegatedCosts;
use super::graph::graph;
use super::node::{SessionTask, nodes};
use super::session_status::{status, word};
use super::{WholeSession, trail};
use crate::aop_event::AopEvent;
use crate::context::Context;
use crate::error::Result;
use crate::run::task_end;

/// The report of a session as it is now.
pub(crate) fn of(whole: &WholeSession) -> SessionFinalReport {
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
    let ended: Vec<FinalSignal> = nodes.iter().filter_map(SessionTask::signal).collect();
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

fn outcome(node: &SessionTask<'_>) -> TaskOutcome {
    let newest = &node.newest;
    let has_ended = !matches!(newest.task.status, Status::Todo | Status::InProgress);
    TaskOutcome {
        task_id: node.task_id().to_owned(),
        state: node.state(),
        final_signal: node.signal(),
        agent: Some(newest.message.target.agent_name.clone()),
        attempts: Some(node.works().map(|work| work.attempts.len() as u64).sum()),
        error_code: task_end::code(newest.task, newest.attempts).filter(|_| has_ended),
        actual_cost_usd: whole_cost(node).map(MicroUsd::dollars),
        duration_seconds: Some(seconds(millis(node))),
        extensions: None,
    }
}

fn millis(node: &SessionTask<'_>) -> u128 {
    let attempts = node.works().flat_map(|work| work.attempts);
    attempts.filter_map(|it| Some(it.ended_at?.since(it.started_at).as_millis())).sum()
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a session are far below 2^53")]
fn seconds(millis: u128) -> f64 {
    millis as f64 / 1000.0
}

fn totals(nodes: &[SessionTask<'_>], outcomes: &[TaskOutcome]) -> Totals {
    let count =
        |wanted: ReportedState| outcomes.iter().filter(|outcome| outcome.state == wanted).count() as u64;
    let mut agents: Vec<String> =
        nodes.iter().map(|node| node.newest.message.target.agent_name.clone()).collect();
    agents.sort();
    agents.dedup();
    let mut roles: Vec<RoleAssignment> = Vec::new();
    for node in nodes {
        let target = &node.newest.message.target;
        let role = RoleAssignment {
            agent: target.agent_name.clone(),
            role: target.role,
            model: Some(node.newest.last_used().1),
            extensions: None,
        };
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    Totals {
        total_tasks: nodes.len() as u64,
        completed: count(ReportedState::Completed),
        failed: count(ReportedState::Failed),
        total_cost_usd: total(nodes).map(MicroUsd::dollars),
        total_duration_seconds: Some(seconds(nodes.iter().map(millis).sum())),
        agents_used: agents,
        role_assignments: roles,
        extensions: None,
    }
}
