//! Values that the tests of the layers share.

use std::collections::BTreeMap;

use contract::aocl::Bundle;
use contract::aop::needs::NeedsJudgment;
use contract::domain::attempt::{Attempt, AttemptOutcome as Ended, AttemptState, NewAttempt};
use contract::domain::check::CheckSeen;
use contract::domain::id::Id;
use contract::domain::money::MicroUsd;
use contract::domain::plan::{Budget, Plan, PlanTask};
use contract::domain::policy::Policy;
use contract::domain::run::{DocumentKind, Intent, NewRun, Owner};
use contract::domain::status::Status;
use contract::domain::task::{PlanPart, Task};
use contract::domain::time::Timestamp;
use contract::json::Value;
use serde_json::json;

use super::Outcome;
use super::l7_delegate::ExecutorClaim;
use super::l8_verify::{Spending, VerifyFacts};
use super::layer::{AttemptChoice, ContextView, Fetched, Handed, LayerFn, LayerInput, RunFacts, StartFacts};

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-01-01T12:00:00Z").unwrap()
}

/// A run of these tasks, in the root directory.
pub(crate) fn run_of(tasks: Vec<PlanTask>) -> NewRun {
    let plan = Plan {
        objective: "test".to_owned(),
        workspace: None,
        max_parallel: 2,
        budget: Budget::default(),
        tasks,
    };
    NewRun {
        id: Id::from_bits(1),
        corr: "corr-1".to_owned(),
        origin_id: "evt-1".to_owned(),
        kind: DocumentKind::Plan,
        objective: "test".to_owned(),
        workspace: "/".to_owned(),
        plan,
        plan_priority: None,
        intent: None,
        requested_by: "human.ann".to_owned(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: "sha256:0".to_owned(),
        environment: None,
        session_id: None,
        warnings: Vec::new(),
    }
}

/// A request without tasks.
pub(crate) fn request(intent: &str, payload: Value) -> NewRun {
    let intent =
        Intent { name: intent.to_owned(), from: "human.ann".to_owned(), payload, requires: Value::Null };
    NewRun { kind: DocumentKind::AeeTask, intent: Some(intent), ..run_of(Vec::new()) }
}

pub(crate) fn facts<'f>(run: &'f NewRun, policy: &'f Policy) -> RunFacts<'f> {
    RunFacts { run, workspace_exists: true, envelope: None, is_healthy: true, policy, now: now() }
}

/// Runs a layer on an empty context.
pub(crate) fn call(layer: LayerFn, fetched: &Fetched<'_>) -> Outcome {
    call_with(layer, fetched, &Bundle::new(), &[])
}

pub(crate) fn call_with(
    layer: LayerFn,
    fetched: &Fetched<'_>,
    bundle: &Bundle,
    handed: &[Handed],
) -> Outcome {
    let view = ContextView { bundle, handed, executed: &[], delegations: &[] };
    layer(&LayerInput { id: "L.test", view, fetched })
}

pub(crate) fn enter(layer: LayerFn, facts: RunFacts<'_>) -> Outcome {
    call(layer, &Fetched::Enter(facts))
}

/// The first attempt of the task, with its own executor.
pub(crate) fn start_facts<'f>(run: &'f NewRun, task: &'f Task, attempts: &'f [Attempt]) -> StartFacts<'f> {
    static NO_ENV: BTreeMap<String, String> = BTreeMap::new();
    static NO_NEEDS: NeedsJudgment = NeedsJudgment { unmet: None, warnings: Vec::new() };
    let part = part(task);
    let executor = &part.spec.executor;
    StartFacts {
        run,
        task,
        part,
        dependencies: Vec::new(),
        attempts,
        attempt_number: 1,
        choice: AttemptChoice { executor, model: None, fallback: None, escalated: None },
        timeout_max: None,
        executor_env: &NO_ENV,
        profile: None,
        unused_model: None,
        lookup: &|_| None,
        needs: &NO_NEEDS,
    }
}

/// An attempt that cost nothing and ended with these checks.
pub(crate) fn verify_facts<'s>(claim: &'s ExecutorClaim, checks: &'s [CheckSeen]) -> VerifyFacts<'s> {
    VerifyFacts {
        number: 1,
        claim,
        checks,
        checks_expected: checks.len(),
        spent: spent(Budget::default(), None, None),
        tree_digest: Some("sha256:1"),
        outside: None,
        withheld: &[],
        checkpoints: &[],
        aborted: None,
        findings: &[],
        is_partial: false,
    }
}

pub(crate) fn spent(budget: Budget, cost: Option<MicroUsd>, tokens: Option<i64>) -> Spending<'static> {
    let (cost_basis, is_half_counted, has_delegated) = (None, false, false);
    Spending { budget, attempts: 1, has_delegated, cost, tokens, cost_basis, is_half_counted }
}

pub(crate) fn task(number: i64, spec: PlanTask) -> Task {
    Task {
        id: Id::from_bits(u128::try_from(number).unwrap()),
        title: spec.title.clone(),
        description: String::new(),
        status: Status::Todo,
        evidence: None,
        priority: 0,
        project_id: None,
        blocked_reason: None,
        version: 1,
        claim: None,
        part: Some(PlanPart { run_id: Id::from_bits(1), number, spec }),
        checks: None,
        pinned: None,
        depends_on: Vec::new(),
        created_at: now(),
        updated_at: now(),
    }
}

pub(crate) fn part(task: &Task) -> &PlanPart {
    task.part.as_ref().unwrap()
}

/// The first attempt of a task, which ended with this message.
pub(crate) fn attempt(state: AttemptState, message: &str) -> Attempt {
    Attempt {
        begun: NewAttempt {
            id: Id::from_bits(1),
            task_id: Id::from_bits(1),
            run_id: Id::from_bits(1),
            number: 1,
            executor: "shell".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: Owner {
                pid: 1,
                start_time: 1,
                boot_id: "boot-1".to_owned(),
                within: Vec::new(),
                machine: String::new(),
                store: None,
            },
        },
        state,
        started_at: now(),
        ended_at: Some(now()),
        outcome: Some(Ended { message: message.to_owned(), ..Ended::default() }),
        rollback: None,
    }
}

/// `CODE: reason` of each decision.
pub(crate) fn decisions(outcome: &Outcome) -> Vec<String> {
    outcome.decisions.iter().map(|decision| format!("{}: {}", decision.code, decision.reason)).collect()
}

pub(crate) fn delta(outcome: &Outcome) -> Value {
    json!(outcome.delta)
}
