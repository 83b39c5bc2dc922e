use serde_json::json;

use super::*;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta};

fn returned(ended: &Ended, claim: &Claim) -> Outcome {
    super::run(&DelegateFacts { number: 1, ended, claim, took: Duration::from_secs(2) })
}

#[test]
fn a_claim_of_success_is_recorded_as_a_claim() {
    let ended = Ended { exit_code: Some(0), ..Ended::default() };
    let outcome = returned(&ended, &Claim::Success);
    assert_eq!(decisions(&outcome), ["RETURNED: claims success after 2.0s"]);
    assert_eq!(delta(&outcome), json!({"C2.Task.t1.exit_code": 0, "C2.Task.t1.claim": "success"}));
    assert_eq!(outcome.next, Next::Continue(()));
}

#[test]
fn a_failure_is_recorded_with_its_code_and_does_not_end_the_walk() {
    let claim = Claim::Failure { code: "E_PROCESS_CRASH".to_owned(), message: "exit 3".to_owned() };
    let outcome = returned(&Ended { exit_code: Some(3), ..Ended::default() }, &claim);
    assert_eq!(decisions(&outcome), ["EXECUTOR_FAILED: exit 3"]);
    assert_eq!(delta(&outcome), json!({"C2.Task.t1.exit_code": 3, "C2.Task.t1.claim": "failure"}));
    assert_eq!(outcome.next, Next::Continue(()));
}

#[test]
fn processes_that_outlived_the_executor_are_counted() {
    let outcome = returned(&Ended { leftovers_killed: 2, ..Ended::default() }, &Claim::Success);
    assert_eq!(decisions(&outcome)[1], "LEFTOVERS_ENDED: 2 processes outlived the executor and were ended");
}

#[test]
fn a_namespace_that_was_not_in_force_is_named_with_the_reason() {
    let told = |namespace: NamespaceInForce| {
        let ended = Ended { in_force: Some(InForce { namespace, sandbox: None }), ..Ended::default() };
        let outcome = returned(&ended, &Claim::Success);
        (decisions(&outcome)[1..].to_vec(), delta(&outcome)["C2.Task.t1.namespace"].clone())
    };
    assert_eq!(told(NamespaceInForce::On), (Vec::new(), json!("on")));
    let off = vec!["NAMESPACE_OFF: the plan turns the pid namespace off".to_owned()];
    assert_eq!(told(NamespaceInForce::Off), (off, json!("off")));
    let refused = "NAMESPACE_REFUSED: the system refuses a new pid namespace: no; its processes were supervised by \
                   the shim and their marks";
    let reason = NamespaceInForce::Refused("a new pid namespace: no".to_owned());
    assert_eq!(told(reason), (vec![refused.to_owned()], json!("refused: a new pid namespace: no")));
}
