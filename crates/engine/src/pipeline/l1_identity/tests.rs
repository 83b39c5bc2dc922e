use contract::domain::plan::PlanTask;
use contract::domain::policy::Policy;
use contract::domain::run::NewRun;
use serde_json::json;

use super::*;
use crate::pipeline::layer::Handed;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta, enter, facts, run_of};

fn at_depth(depth: u32) -> Outcome {
    let run = NewRun { depth, ..run_of(vec![PlanTask::minimal("a")]) };
    enter(super::run, facts(&run, &Policy::default()))
}

#[test]
fn the_caller_and_the_depth_are_in_the_context() {
    let outcome = at_depth(limits::DELEGATION_DEPTH_MAX);
    assert_eq!(decisions(&outcome), ["IDENTIFIED: human.ann at depth 3"]);
    let expected = json!({
        "C1.Identity.requested_by": "human.ann", "C1.Identity.kind": "human",
        "C1.Identity.depth": 3, "C1.Identity.parent_run": null,
    });
    assert_eq!(delta(&outcome), expected);
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[test]
fn a_run_that_is_nested_too_deep_is_refused() {
    let outcome = at_depth(limits::DELEGATION_DEPTH_MAX + 1);
    let reason = "E_MAX_DEPTH_EXCEEDED: depth 4 is over 3";
    assert_eq!(decisions(&outcome)[1], format!("DEPTH_EXCEEDED: {reason}"));
    assert_eq!(outcome.next, Next::Refuse(Reason::of_text(reason)));
}
