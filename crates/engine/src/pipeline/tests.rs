use contract::aocl::payload::Decision;
use contract::domain::plan::PlanTask;

use super::samples::run_of;
use super::stack::DEFAULT;
use super::*;

fn pipeline() -> Pipeline {
    Pipeline::new(LayerStack::parse(DEFAULT).unwrap(), &run_of(vec![PlanTask::minimal("a")]))
}

fn result(exit: LayerEnd) -> LayerResult {
    let decisions = vec![Decision { code: "A".to_owned(), reason: "because".to_owned() }];
    LayerResult { decisions, delta: Map::new(), refs: Vec::new(), exit, timing_ms: 3 }
}

fn passes() -> LayerEnd {
    LayerEnd::Continue(Handed::Nothing)
}

/// The first layer of a stage.
fn node(pipeline: &Pipeline, stage: Stage) -> LayerNode {
    pipeline.stack.of(stage).next().unwrap().clone()
}

fn last_of_entry(pipeline: &Pipeline) -> LayerNode {
    pipeline.stack.of(Stage::Enter).next_back().unwrap().clone()
}

/// The envelopes that would be written: intent, message, payload.
fn envelopes(pipeline: &Pipeline) -> Vec<(&str, &str, &Value)> {
    let envelopes = pipeline.entries().iter().filter_map(|entry| match entry {
        JournalEntry::Envelope(note) => Some((&*note.intent, &*note.message, &note.payload)),
        _ => None,
    });
    envelopes.collect()
}

#[test]
fn a_layers_record_says_how_the_walk_goes_on() {
    let refuse = || LayerEnd::Refuse("no".into());
    let id: TaskId = contract::domain::id::Id::from_bits(1);
    let halts = json!({
        "halt_pipeline": true, "branch_to": "L9.assemble.respond", "bypass_layers": [],
        "require_hitl": false, "severity": null,
    });
    let goes_on = json!(Control::default());
    let parks = json!(Control { require_hitl: true, ..Control::default() });
    let mut parks_all = halts.clone();
    parks_all["require_hitl"] = json!(true);
    let park = || LayerEnd::Park("ask".to_owned());
    let cases = [
        (passes(), Stage::Enter, &goes_on),
        (LayerEnd::Answer(json!(1)), Stage::Enter, &halts),
        (refuse(), Stage::Enter, &halts),
        (park(), Stage::Enter, &parks_all),
        (refuse(), Stage::Start, &goes_on),
        (park(), Stage::Start, &parks),
        (refuse(), Stage::Leave, &goes_on),
    ];
    for (exit, stage, control) in cases {
        let mut pipeline = pipeline();
        let task = (stage == Stage::Start).then_some(&id);
        let node = node(&pipeline, stage);
        let returned = pipeline.record(&node, result(exit.clone()), task).unwrap();
        assert_eq!(returned, exit);
        let written = envelopes(&pipeline);
        assert_eq!(
            (written[0].0, written[0].2["stack_id"].as_str()),
            (intents::STACK_SELECT, Some("default"))
        );
        let (intent, message, payload) = written[1];
        assert_eq!((intent, message), (intents::LAYER_DECISION, "A: because"));
        assert_eq!(&payload["control"], control, "{exit:?} {stage:?}");
    }
}

#[test]
fn what_could_not_be_written_is_dropped() {
    let mut pipeline = pipeline();
    let before = pipeline.bundle().digest();
    let mark = pipeline.mark();
    let delta = Map::from_iter([("C2.Task.x".to_owned(), json!(1))]);
    let changed = LayerResult { delta, ..result(passes()) };
    let last = last_of_entry(&pipeline);
    pipeline.record(&last, changed, None).unwrap();
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
    let executed: Vec<&str> = planned.executed.iter().map(|done| done.id.as_str()).collect();
    assert_eq!(executed, ["L0.ingress.normalize", "L3.policy.gate", "L4.plan.decompose"]);
    assert_eq!(l4_plan::order(&run.plan, planned.bundle()), [1, 0]);
    records[0].digests.context_out = "sha256:0".to_owned();
    let Err(error) = Pipeline::resumed(stack(), &run, &records) else { panic!("a wrong digest is accepted") };
    assert_eq!(error.code, ErrorCode::Corrupt);
}

#[test]
fn a_last_layer_that_refused_is_not_passed() {
    for exit in [LayerEnd::Refuse("no".into()), LayerEnd::Park("ask".to_owned())] {
        let mut pipeline = pipeline();
        let last = last_of_entry(&pipeline);
        pipeline.record(&last, result(exit), None).unwrap();
        assert!(!pipeline.has_entered());
    }
}

#[test]
fn the_layers_of_a_task_end_with_the_first_that_does_not_continue() {
    let id: TaskId = contract::domain::id::Id::from_bits(1);
    let brief = || Handed::Brief("b".to_owned());
    let cases: [(LayerEnd, fn(&StageEnd) -> bool); 4] = [
        (LayerEnd::Continue(brief()), |end| matches!(end, StageEnd::Passed(handed) if handed.len() == 2)),
        (
            LayerEnd::Refuse("no".into()),
            |end| matches!(end, StageEnd::Refused(reason) if reason.text == "no"),
        ),
        (LayerEnd::Park("ask".to_owned()), |end| matches!(end, StageEnd::Parked(reason) if reason == "ask")),
        (LayerEnd::Answer(json!(1)), |end| matches!(end, StageEnd::Refused(_))),
    ];
    for (exit, is_expected) in cases {
        let mut pipeline = pipeline();
        let results = vec![result(LayerEnd::Continue(brief())), result(exit)];
        let end = pipeline.record_stage(Stage::Start, results, &id).unwrap();
        assert!(is_expected(&end), "{end:?}");
        assert_eq!(envelopes(&pipeline).len(), 3);
    }
}
