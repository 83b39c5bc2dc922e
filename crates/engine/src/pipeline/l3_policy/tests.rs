use std::time::Duration;

use contract::domain::check::{Check, Expects};
use contract::domain::policy::Policy;
use contract::domain::run::NewRun;
use serde_json::json;

use super::*;
use crate::pipeline::layer::Handed;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta, enter, facts, run_of};

#[test]
fn what_no_rule_forbids_is_allowed() {
    let (run, policy) = (run_of(vec![PlanTask::minimal("a")]), Policy::default());
    let outcome = enter(super::run, facts(&run, &policy));
    assert_eq!(decisions(&outcome), ["POLICY_ALLOW: no rule forbids it"]);
    assert_eq!(delta(&outcome), json!({"C4.Policy.sandbox": "prefer"}));
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[test]
fn a_network_that_nobody_limits_is_told() {
    let sandbox = Some(SandboxMode::Off);
    let closed = |id: &str| PlanTask { network: NetworkUse::None, sandbox, ..PlanTask::minimal(id) };
    let held = PlanTask { sandbox: Some(SandboxMode::Prefer), ..closed("held") };
    let tasks = ["a", "b", "c", "d", "e", "f"].map(closed);
    let run = run_of(tasks.into_iter().chain([held, PlanTask::minimal("open")]).collect());
    let said = |policy: &Policy| decisions(&enter(super::run, facts(&run, policy))).get(1).cloned();
    let expected =
        "NETWORK_NOT_LIMITED: no sandbox is on, so `network` has no effect for a, b, c, d, e and 1 more";
    assert_eq!(said(&Policy::default()).as_deref(), Some(expected));
    assert_eq!(said(&Policy { sandbox: Some(SandboxMode::Enforce), ..Policy::default() }), None);
}

#[test]
fn a_cap_on_the_time_is_in_the_context() {
    let run = run_of(vec![PlanTask::minimal("a")]);
    let policy = Policy { timeout_max: Some(Duration::from_secs(90)), ..Policy::default() };
    let outcome = enter(super::run, facts(&run, &policy));
    assert_eq!(decisions(&outcome)[1], "TIMEOUT_CAPPED: no attempt may take longer than 1m30s");
    assert_eq!(outcome.delta["C4.Policy.timeout_max_ms"], 90_000);
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[track_caller]
fn assert_denied(run: &NewRun, policy: &Policy, task: &str, rule: &str) {
    let outcome = enter(super::run, facts(run, policy));
    let reason = format!("task `{task}` is denied: {rule}");
    assert_eq!(decisions(&outcome), [format!("POLICY_DENY: {reason}")]);
    assert_eq!(delta(&outcome), json!({"C4.Policy.denied_by": rule}));
    assert_eq!(outcome.next, Next::Refuse(reason.into()));
}

#[test]
fn an_executor_on_the_list_is_denied() {
    let run = run_of(vec![PlanTask::minimal("a")]);
    let policy = Policy { deny_executors: vec!["shell".to_owned()], ..Policy::default() };
    assert_denied(&run, &policy, "a", "policy.deny_executors has `shell`");
}

#[test]
fn a_shell_is_denied_in_commands_and_in_checks() {
    let policy = Policy { deny_shell: true, ..Policy::default() };
    let check = Check { command: vec!["x".to_owned()], shell: true, expects: Expects::ExitCode0 };
    for task in [
        PlanTask { shell: true, ..PlanTask::minimal("b") },
        PlanTask { checks: vec![check], ..PlanTask::minimal("b") },
    ] {
        assert_denied(&run_of(vec![PlanTask::minimal("a"), task]), &policy, "b", "policy.deny_shell is set");
    }
}
