use contract::domain::plan::PlanTask;
use contract::domain::policy::Policy;
use contract::domain::reason::Reason;
use serde_json::json;

use crate::pipeline::layer::{Handed, RunFacts};
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta, enter, facts, request, run_of};

#[test]
fn a_plan_is_described_in_the_context() {
    let (run, policy) = (run_of(vec![PlanTask::minimal("a")]), Policy::default());
    let outcome = enter(super::run, facts(&run, &policy));
    assert_eq!(decisions(&outcome), ["NORMALIZED: plan read as a plan of 1 task"]);
    let expected = json!({
        "C0.Event.kind": "plan", "C0.Event.digest": "sha256:0", "C0.Event.intent": null,
        "C0.Event.objective": "test", "C5.Execution.run_id": run.id, "C5.Execution.workspace": "/",
    });
    assert_eq!(delta(&outcome), expected);
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
    let run = run_of(vec![PlanTask::minimal("a"), PlanTask::minimal("b")]);
    let outcome = enter(super::run, facts(&run, &policy));
    assert_eq!(decisions(&outcome), ["NORMALIZED: plan read as a plan of 2 tasks"]);
}

#[test]
fn tasks_without_a_workspace_are_refused() {
    let (run, policy) = (run_of(vec![PlanTask::minimal("a")]), Policy::default());
    let outcome = enter(super::run, RunFacts { workspace_exists: false, ..facts(&run, &policy) });
    let reason = "E_FILE_NOT_FOUND: the workspace / is not a directory";
    assert_eq!(decisions(&outcome)[1], format!("WORKSPACE_MISSING: {reason}"));
    assert_eq!(outcome.next, Next::Refuse(Reason::of_text(reason)));
}

#[test]
fn a_request_without_tasks_needs_no_workspace() {
    let (run, policy) = (request("aee.status.ping", json!({})), Policy::default());
    let outcome = enter(super::run, RunFacts { workspace_exists: false, ..facts(&run, &policy) });
    assert_eq!(decisions(&outcome), ["NORMALIZED: aee_task read as a request without tasks"]);
    assert_eq!(outcome.delta["C0.Event.intent"], "aee.status.ping");
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}
