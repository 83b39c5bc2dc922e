use contract::aocl::payload::Decision;
use contract::plan::PlanTask;

use super::samples::run_of;
use super::stack::DEFAULT;
use super::*;

fn pipeline() -> Pipeline {
    Pipeline::new(LayerStack::parse(DEFAULT).unwrap(), &run_of(vec![PlanTask::minimal("a")]))
}

fn result(exit: Exit<()>) -> LayerResult<()> {
    let decisions = vec![Decision { code: "A".to_owned(), reason: "because".to_owned() }];
    LayerResult { decisions, delta: Map::new(), refs: Vec::new(), exit, timing_ms: 3 }
}

/// The envelopes that would be written: intent, message, payload.
fn envelopes(pipeline: &Pipeline) -> Vec<(&str, &str, &Value)> {
    let envelopes = pipeline.entries().iter().filter_map(|entry| match entry {
        Entry::Envelope(note) => Some((&*note.intent, &*note.message, &note.payload)),
        _ => None,
    });
    envelopes.collect()
}

#[test]
fn a_layers_record_says_how_the_walk_goes_on() {
    let refuse = || Exit::Refuse("no".to_owned());
    let id: TaskId = contract::domain::id::Id::from_bits(1);
    let halts = json!({
        "halt_pipeline": true, "branch_to": "L9.assemble.respond", "bypass_layers": [],
        "require_hitl": false, "severity": null,
    });
    let goes_on = json!(Control::default());
    let cases = [
        (Exit::Continue(()), Position::Entry, &goes_on),
        (Exit::Answer(json!(1)), Position::Entry, &halts),
        (refuse(), Position::Entry, &halts),
        (refuse(), Position::Task(&id), &goes_on),
        (refuse(), Position::Leaving, &goes_on),
    ];
    for (exit, position, control) in cases {
        let mut pipeline = pipeline();
        let returned = pipeline.record("L2.route.smart", result(exit.clone()), position).unwrap();
        assert_eq!(returned, exit);
        let written = envelopes(&pipeline);
        assert_eq!(
            (written[0].0, written[0].2["stack_id"].as_str()),
            (intents::STACK_SELECT, Some("default"))
        );
        let (intent, message, payload) = written[1];
        assert_eq!((intent, message), (intents::LAYER_DECISION, "A: because"));
        assert_eq!(&payload["control"], control, "{exit:?} {position:?}");
    }
}

#[test]
fn what_could_not_be_written_is_dropped() {
    let mut pipeline = pipeline();
    let before = pipeline.bundle().digest();
    let mark = pipeline.mark();
    let delta = Map::from_iter([("C2.Task.x".to_owned(), json!(1))]);
    let changed = LayerResult { delta, ..result(Exit::Continue(())) };
    pipeline.record("L4.plan.decompose", changed, Position::Entry).unwrap();
    assert!(pipeline.has_entered());
    pipeline.back_to(mark);
    assert!(!pipeline.has_entered());
    assert_eq!((pipeline.bundle().digest(), envelopes(&pipeline).len()), (before, 1));
}

/// The record of a layer as a binary of before wrote it, on top of `bundle`.
fn old_record(bundle: &mut Bundle, id: &str, delta: Value, halts: bool) -> LayerPayload {
    let context_in = bundle.digest();
    bundle.apply(delta.as_object().unwrap()).unwrap();
    let branch_to = if halts { json!("L9.assemble.respond") } else { Value::Null };
    serde_json::from_value(json!({
        "run_id": "run_1", "stack_id": "default", "layer": {"id": id, "version": "0.1"}, "timing_ms": 0,
        "decisions": [{"code": "X", "reason": "y"}], "delta": delta, "refs": [],
        "digests": {"context_in": context_in, "context_out": bundle.digest()},
        "control": {"halt_pipeline": halts, "branch_to": branch_to, "bypass_layers": [],
                    "require_hitl": false, "severity": null},
    }))
    .unwrap()
}

#[test]
fn a_walk_continues_on_records_of_an_older_binary() {
    let mut bundle = Bundle::new();
    let refused =
        json!({"C6.Audit.refused": "task `a` is denied", "C4.Policy.denied_by": "policy.deny_shell is set"});
    let mut records = vec![
        old_record(&mut bundle, "L0.ingress.normalize", json!({"C0.Event.kind": "plan"}), false),
        old_record(&mut bundle, "L3.policy.gate", refused, true),
    ];
    let stack = || LayerStack::parse(DEFAULT).unwrap();
    let run = run_of(vec![PlanTask::minimal("a"), PlanTask::minimal("b")]);
    let halted = Pipeline::resumed(stack(), &run, &records).unwrap();
    assert!(!halted.has_entered() && halted.entries().is_empty());
    records.push(old_record(&mut bundle, "L4.plan.decompose", json!({"C2.Task.order": ["b", "a"]}), false));
    let planned = Pipeline::resumed(stack(), &run, &records).unwrap();
    assert!(planned.has_entered());
    assert_eq!(planned.executed(), ["L0.ingress.normalize", "L3.policy.gate", "L4.plan.decompose"]);
    assert_eq!(l4_plan::order(&run.plan, planned.bundle()), [1, 0]);
    records[0].digests.context_out = "sha256:0".to_owned();
    let Err(error) = Pipeline::resumed(stack(), &run, &records) else { panic!("a wrong digest is accepted") };
    assert_eq!(error.code, ErrorCode::Corrupt);
}

#[test]
fn a_last_layer_that_refused_is_not_passed() {
    let mut pipeline = pipeline();
    pipeline.record("L4.plan.decompose", result(Exit::Refuse("no".to_owned())), Position::Entry).unwrap();
    assert!(!pipeline.has_entered());
}
