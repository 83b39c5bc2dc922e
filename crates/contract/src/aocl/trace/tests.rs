use super::*;
use crate::aee::{EnvelopeDraft, Type};
use crate::aocl::{Bundle, Layer};
use crate::domain::time::Timestamp;
use crate::json::Map;
use serde_json::json;

fn envelope(kind: Type, id: &str, intent: &str, reply_to: Option<&str>, payload: &Value) -> Envelope {
    let draft = EnvelopeDraft {
        id: format!("evt-{id:0>6}"),
        at: Timestamp::from_millis(0),
        from: "agent.a".to_owned(),
        to: "log.aocl".to_owned(),
        intent: intent.to_owned(),
        corr: "corr-0001".to_owned(),
        payload: payload.as_object().unwrap().clone(),
    };
    let mut envelope = Envelope::new(kind, draft);
    envelope.reply_to = reply_to.map(|id| format!("evt-{id:0>6}"));
    envelope
}

fn step(bundle: &mut Bundle, layer: Layer, path: &str) -> Value {
    let delta = Map::from_iter([(path.to_owned(), json!(layer.order()))]);
    let before = bundle.digest();
    bundle.apply(&delta).unwrap();
    json!({
        "run_id": "r", "layer": {"id": layer.id(), "version": "0.1"}, "delta": delta,
        "digests": {"context_in": before, "context_out": bundle.digest()},
    })
}

/// A request, three layers, a delegated task and its result, the summary.
fn trace(strategy: Strategy) -> Vec<Envelope> {
    let mut bundle = Bundle::new();
    let chain = |root: &'static str, span: &'static str| {
        Some(if strategy == Strategy::RootLinked { root } else { span })
    };
    let steps = [
        step(&mut bundle, Layer::Normalize, "C0.Event.n"),
        step(&mut bundle, Layer::Policy, "C4.Policy.n"),
        step(&mut bundle, Layer::Delegate, "C5.Execution.n"),
    ];
    let summary = json!({"run_id": "r", "layers_executed": []});
    vec![
        envelope(Type::Task, "0", "a.b.c", None, &json!({})),
        envelope(Type::Event, "1", intents::LAYER_DECISION, Some("0"), &steps[0]),
        envelope(Type::Event, "2", intents::LAYER_DECISION, chain("0", "1"), &steps[1]),
        envelope(Type::Event, "3", intents::LAYER_DECISION, chain("0", "2"), &steps[2]),
        envelope(Type::Task, "4", "a.b.c", chain("0", "3"), &json!({})),
        envelope(Type::Result, "5", "a.b.c", Some("4"), &json!({})),
        envelope(Type::Event, "6", intents::RUN_SUMMARY, chain("0", "3"), &summary),
        envelope(Type::Result, "7", "a.b.c", Some("0"), &json!({})),
    ]
}

fn found(envelopes: &[Envelope]) -> Vec<String> {
    let findings = check(envelopes).findings.sorted();
    findings.iter().map(|finding| format!("{} {}", finding.path, finding.rule)).collect()
}

#[test]
fn both_strategies_give_a_valid_trace() {
    for strategy in [Strategy::RootLinked, Strategy::SpanLinked] {
        let envelopes = trace(strategy);
        let report = check(&envelopes);
        assert_eq!(report, TraceReport { strategy: Some(strategy), ..TraceReport::default() });
        let lines: Vec<String> = envelopes.iter().map(|e| serde_json::to_string(e).unwrap()).collect();
        let verdict = validate(format!("{}\n\n", lines.join("\n")).as_bytes());
        assert_eq!((verdict.code.as_str(), &verdict.details.more["envelopes"]), ("OK", &json!(8)));
    }
}

#[test]
fn each_fault_of_a_trace_is_found_at_its_envelope() {
    let broken = |change: fn(&mut Vec<Envelope>)| {
        let mut envelopes = trace(Strategy::RootLinked);
        change(&mut envelopes);
        found(&envelopes)
    };
    let id = |at: usize| format!("evt-{at:0>6}");
    assert_eq!(id(1), trace(Strategy::RootLinked)[1].id);
    assert_eq!(broken(|t| t[2].corr = "corr-0002".to_owned()), ["$[2].corr corr"]);
    assert_eq!(broken(|t| t[7].id = t[5].id.clone()), ["$[7].id duplicate_id"]);
    assert_eq!(broken(|t| t[2].reply_to = Some("evt-999999".to_owned())), ["$[2].reply_to dangling_reply"]);
    assert_eq!(broken(|t| t[2].reply_to = None), ["$[2].reply_to reply_target"]);
    assert_eq!(broken(|t| t[3].reply_to = Some(t[2].id.clone())), ["$[3].reply_to mixed_strategy"]);
    assert_eq!(broken(|t| t[3].reply_to = Some(t[1].id.clone())), ["$[3].reply_to reply_target"]);
    assert_eq!(broken(|t| t[5].reply_to = Some(t[3].id.clone())), ["$[5].reply_to reply_target"]);
    assert_eq!(
        broken(|t| {
            t.remove(2);
        }),
        ["$[2].payload.digests.context_in digest_chain"]
    );
    assert_eq!(
        broken(|t| t.swap(1, 2)),
        ["$[2].payload.digests.context_in digest_chain", "$[3].payload.digests.context_in digest_chain"]
    );
    assert_eq!(
        broken(|t| {
            t[1].payload.remove("layer");
        }),
        ["$[1].payload.layer missing"]
    );
    assert_eq!(
        broken(|t| {
            t[6].payload.insert("layers_bypassed".to_owned(), json!(["L5.context.retrieve"]));
        }),
        ["$[6].payload.layers_bypassed silent_bypass"]
    );
    assert_eq!(
        broken(|t| {
            t[6].payload.insert("branch_taken".to_owned(), json!("BR.restricted_mode"));
        }),
        ["$[6].payload.branch_taken silent_branch"]
    );
    assert_eq!(broken(Vec::clear), ["$ empty_input"]);
}

#[test]
fn a_log_may_begin_with_the_first_event() {
    for strategy in [Strategy::RootLinked, Strategy::SpanLinked] {
        let envelopes = &trace(strategy)[1..];
        assert_eq!(check(envelopes), TraceReport { strategy: Some(strategy), ..TraceReport::default() });
    }
}

#[test]
fn the_receiver_of_a_task_may_delegate_parts_of_it() {
    let mut envelopes = trace(Strategy::RootLinked);
    envelopes[4].to = "agent.worker".to_owned();
    let mut part = envelope(Type::Task, "9", "a.b.d", Some("4"), &json!({}));
    part.from = "agent.worker".to_owned();
    envelopes.insert(5, part);
    assert_eq!(found(&envelopes), [""; 0]);
    envelopes[5].from = "agent.stranger".to_owned();
    assert_eq!(found(&envelopes), ["$[5].reply_to reply_target"]);
}

#[test]
fn a_bypass_with_an_event_may_be_in_the_summary() {
    let mut envelopes = trace(Strategy::RootLinked);
    envelopes[6].payload.insert("layers_bypassed".to_owned(), json!(["L5.context.retrieve"]));
    let bypass = json!({"requested_by": "human.ann", "layers": ["L5.context.retrieve"], "allowed": true, "reason": "known"});
    envelopes.insert(4, envelope(Type::Event, "8", intents::CONTROL_BYPASS, Some("0"), &bypass));
    assert_eq!(found(&envelopes), [""; 0]);
    envelopes[4].payload.insert("allowed".to_owned(), json!(false));
    assert_eq!(found(&envelopes), ["$[7].payload.layers_bypassed silent_bypass"]);
}

#[test]
fn a_step_may_be_recorded_in_four_events() {
    let mut envelopes = trace(Strategy::RootLinked);
    let decision = envelopes[2].clone();
    let mut told = [intents::LAYER_ENTER, intents::CONTEXT_PATCH, intents::LAYER_EXIT].map(|intent| {
        let mut event = decision.clone();
        event.intent = intent.to_owned();
        event
    });
    told[0].payload.remove("digests");
    for (number, event) in told.iter_mut().enumerate() {
        event.id = format!("evt-four{number}");
    }
    let [enter, patch, exit] = told;
    envelopes.splice(2..3, [enter, decision, patch, exit]);
    assert_eq!(found(&envelopes), [""; 0]);
    assert!(replay(&mut Bundle::new(), &envelopes).is_empty());
}

#[test]
fn a_line_that_is_not_an_envelope_is_reported() {
    let verdict = validate(b"{\"v\":\"1\"}\nnot json\n");
    assert_eq!(verdict.code, "SCHEMA_INVALID");
    assert!(verdict.details.findings.iter().any(|f| f.path == "$[1]" && f.rule == "json"));
    assert_eq!(validate(b" \n").details.rule.as_deref(), Some("empty_input"));
}

#[test]
fn replaying_a_trace_gives_its_last_digest_and_finds_a_wrong_one() {
    let mut envelopes = trace(Strategy::RootLinked);
    let mut bundle = Bundle::new();
    assert!(replay(&mut bundle, &envelopes).is_empty());
    assert_eq!(envelopes[3].payload["digests"]["context_out"], json!(bundle.digest()));
    envelopes[2].payload["delta"]["C4.Policy.n"] = json!(4);
    let findings = replay(&mut Bundle::new(), &envelopes).sorted();
    let places: Vec<&str> = findings.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        places,
        [
            "$[2].payload.digests.context_out",
            "$[3].payload.digests.context_in",
            "$[3].payload.digests.context_out"
        ]
    );
}

#[test]
fn placeholders_chain_but_are_warned_about() {
    let mut envelopes = trace(Strategy::RootLinked);
    for envelope in &mut envelopes[1..4] {
        envelope.payload["digests"] = json!({"context_in": "sha256:...", "context_out": "sha256:..."});
    }
    let report = check(&envelopes);
    assert!(report.findings.is_empty());
    assert_eq!(report.warnings.iter().count(), 6);
    assert!(report.warnings.has_rule("placeholder"));
}

/// The lines of the case's base with its changes made.
fn changed(case: &Value) -> String {
    let base = match case["base"].as_str() {
        Some("root-linked") => include_str!("../../../vectors/aocl/root-linked.ndjson"),
        Some("span-linked") => include_str!("../../../vectors/aocl/span-linked.ndjson"),
        other => panic!("unknown base {other:?}"),
    };
    let mut lines: Vec<Value> = base.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for change in case["changes"].as_array().unwrap() {
        let line = usize::try_from(change["line"].as_u64().unwrap()).unwrap();
        match change["at"].as_str() {
            Some(place) => *lines[line].pointer_mut(place).unwrap() = change["value"].clone(),
            None => drop(lines.remove(line)),
        }
    }
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_vectors_hold() {
    let file = include_str!("../../../vectors/aocl/trace.json");
    crate::aee::vectors::run(file, |case, _, _| validate(changed(case).as_bytes()));
}

#[test]
fn the_traces_of_the_vectors_replay() {
    for trace in [
        include_str!("../../../vectors/aocl/root-linked.ndjson"),
        include_str!("../../../vectors/aocl/span-linked.ndjson"),
    ] {
        let envelopes: Vec<Envelope> =
            trace.lines().map(|line| aee::parse(line.as_bytes()).unwrap()).collect();
        assert!(replay(&mut Bundle::new(), &envelopes).is_empty());
    }
}
