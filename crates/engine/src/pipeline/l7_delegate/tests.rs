use serde_json::json;

use super::*;
use crate::pipeline::layer::{EndFacts, Fetched, Handed};
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{call, decisions, delta, verify_facts};

fn returned(ended: &ChildEnd, claim: &ExecutorClaim) -> Outcome {
    let returned = DelegateFacts {
        number: 1,
        ended,
        claim,
        claims: &Claims::default(),
        took: Duration::from_secs(2),
        overruled: &BTreeMap::new(),
        silences: None,
        late_ms: None,
    };
    let verify = verify_facts(claim, &[]);
    call(super::run, &Fetched::End(EndFacts { returned, verify }))
}

#[test]
fn a_claim_of_success_is_recorded_as_a_claim() {
    let ended = ChildEnd { exit_code: Some(0), ..ChildEnd::default() };
    let outcome = returned(&ended, &ExecutorClaim::Success);
    assert_eq!(decisions(&outcome), ["RETURNED: claims success after 2.0s"]);
    assert_eq!(outcome.took, Some(Duration::from_secs(2)));
    assert_eq!(delta(&outcome), json!({"C2.Task.t1.exit_code": 0, "C2.Task.t1.claim": "success"}));
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[test]
fn a_failure_is_recorded_with_its_code_and_does_not_end_the_walk() {
    let claim = ExecutorClaim::Failure { code: FailureCode::ProcessCrash, message: "exit 3".to_owned() };
    let outcome = returned(&ChildEnd { exit_code: Some(3), ..ChildEnd::default() }, &claim);
    assert_eq!(decisions(&outcome), ["EXECUTOR_FAILED: exit 3"]);
    assert_eq!(delta(&outcome), json!({"C2.Task.t1.exit_code": 3, "C2.Task.t1.claim": "failure"}));
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[test]
fn processes_that_outlived_the_executor_are_counted() {
    let outcome = returned(&ChildEnd { leftovers_killed: 2, ..ChildEnd::default() }, &ExecutorClaim::Success);
    assert_eq!(decisions(&outcome)[1], "LEFTOVERS_ENDED: 2 processes outlived the executor and were ended");
}

#[test]
fn a_namespace_that_was_not_in_force_is_named_with_the_reason() {
    let told = |namespace: NamespaceInForce| {
        let ended = ChildEnd { in_force: Some(InForce { namespace, sandbox: None }), ..ChildEnd::default() };
        let outcome = returned(&ended, &ExecutorClaim::Success);
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

#[test]
fn what_could_be_reached_and_what_was_is_in_the_trace() {
    let rule = |text: &str| HostRule::parse(text).unwrap();
    let reachable = crate::supervisor::Reachable {
        allow: vec![rule("a.test:443"), rule("*.b.test:443")],
        endpoints: vec![rule("model.test:443")],
    };
    let mut sandbox = crate::supervisor::SandboxInForce::refused("no");
    sandbox.reachable = Some(reachable);
    let in_force = InForce { namespace: NamespaceInForce::On, sandbox: Some(Box::new(sandbox)) };
    let visit = |number: u64| Visit {
        to: format!("h{number}.test:443"),
        verdict: if number == 0 { Verdict::Allowed } else { Verdict::Denied },
        connections: number + 1,
        sent_bytes: 10,
        received_bytes: 20,
        reason: None,
    };
    let network = (0..25).map(visit).collect();
    let ended = ChildEnd { in_force: Some(in_force), network, ..ChildEnd::default() };
    let said = decisions(&returned(&ended, &ExecutorClaim::Success));
    for line in [
        "NETWORK_RESTRICTED: the plan allows a.test:443, *.b.test:443",
        "NETWORK_ENDPOINTS: endpoints of the executor, reachable all the same: model.test:443",
        "NETWORK_ALLOWED: h0.test:443 allowed: 1 connection, 10 bytes sent, 20 received",
        "NETWORK_DENIED: h1.test:443 denied: 2 connections",
        "NETWORK_MORE: 5 more destinations are in the attempt's outcome",
    ] {
        assert!(said.iter().any(|known| known == line), "{line}: {said:?}");
    }
}
