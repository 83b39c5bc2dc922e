use contract::aee::{Envelope, EnvelopeDraft};
use contract::domain::plan::PlanTask;
use contract::domain::policy::Policy;
use contract::domain::reason::Reason;
use contract::json::Map;

use super::*;
use crate::pipeline::layer::Handed;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, enter, facts, now, request, run_of};

fn answered(intent: &str, payload: Value) -> Value {
    let (run, policy) = (request(intent, payload), Policy::default());
    answer_of(enter(super::run, facts(&run, &policy)))
}

fn answer_of(outcome: Outcome) -> Value {
    let Next::Answer(answer) = outcome.next else { panic!("no answer: {outcome:?}") };
    assert_eq!(outcome.delta["C5.Execution.answer"], answer);
    answer
}

#[test]
fn tasks_go_to_their_executors() {
    let (run, policy) = (run_of(vec![PlanTask::minimal("a"), PlanTask::minimal("b")]), Policy::default());
    let outcome = enter(super::run, facts(&run, &policy));
    assert_eq!(decisions(&outcome), ["ROUTED: to shell"]);
    assert_eq!(outcome.delta["C5.Execution.executors"], json!(["shell"]));
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
}

#[test]
fn every_reserved_intent_is_answered() {
    assert_eq!(answered(intents::STATUS_PING, json!({})), json!({"pong": true, "ts": now()}));
    assert_eq!(answered(intents::STATUS_HEALTH, json!({})), json!({"status": "healthy"}));
    assert_eq!(answered(intents::SPEC_QUERY, json!({}))["aee_version"], aee::VERSION);
    assert_eq!(answered(intents::CONTEXT_REFUTE, json!({})), json!({"acknowledged": true}));
    let listed = answered(intents::CAPABILITY_LIST, json!({"namespace_filter": "writ."}));
    assert_eq!(listed, json!({"intents": [RUN_PLAN, RUN_TASK]}));
    let judged = answered(
        intents::VALIDATE_PAYLOAD,
        json!({"intent": intents::CONTEXT_FETCH, "payload_to_validate": {}}),
    );
    assert_eq!(judged["valid"], judged["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_context_that_the_store_has_is_returned() {
    let (run, policy) = (request(intents::CONTEXT_FETCH, json!({"id": "evt-9"})), Policy::default());
    assert_eq!(answer_of(enter(super::run, facts(&run, &policy))), json!({"found": false}));
    let draft = EnvelopeDraft {
        id: "evt-9".to_owned(),
        at: now(),
        from: "human.ann".to_owned(),
        to: "service.writ".to_owned(),
        intent: "a.b".to_owned(),
        corr: "corr-9".to_owned(),
        payload: Map::new(),
    };
    let envelope = Some(Envelope::new(Type::Event, draft));
    let answer = answer_of(enter(super::run, RunFacts { envelope, ..facts(&run, &policy) }));
    assert_eq!((&answer["found"], &answer["envelope"]["id"]), (&json!(true), &json!("evt-9")));
}

#[test]
fn a_store_in_trouble_is_degraded() {
    let (run, policy) = (request(intents::STATUS_HEALTH, json!({})), Policy::default());
    let outcome = enter(super::run, RunFacts { is_healthy: false, ..facts(&run, &policy) });
    assert_eq!(answer_of(outcome), json!({"status": "degraded"}));
}

#[test]
fn what_has_no_route_is_refused() {
    let policy = Policy::default();
    let unknown = request("shop.order.ship", json!({}));
    let empty = run_of(Vec::new());
    for (run, reason) in
        [(unknown, "no route for the intent shop.order.ship"), (empty, "there is nothing to do")]
    {
        let outcome = enter(super::run, facts(&run, &policy));
        assert_eq!(decisions(&outcome), [format!("NO_ROUTE: {reason}")]);
        assert_eq!(outcome.next, Next::Refuse(Reason::of_text(reason)));
    }
}
