use super::*;
use crate::aocl::{check_payload, intents};
use serde_json::json;

fn layer_payload() -> LayerPayload {
    LayerPayload {
        run_id: "run_1".to_owned(),
        stack_id: "default".to_owned(),
        layer: Layer::Policy.into(),
        timing_ms: 4,
        decisions: vec![Decision { code: "POLICY_ALLOW".to_owned(), reason: "reads only".to_owned() }],
        delta: Map::from_iter([("C5.Execution.mode".to_owned(), json!("read"))]),
        refs: vec!["mem://run_1".to_owned()],
        digests: Digests { context_in: "sha256:a".to_owned(), context_out: "sha256:b".to_owned() },
        control: Control { require_hitl: true, ..Control::default() },
    }
}

#[test]
fn what_we_emit_has_the_published_keys() {
    insta::assert_snapshot!(
        serde_json::to_string(&layer_payload()).unwrap(),
        @r#"{"run_id":"run_1","stack_id":"default","layer":{"id":"L3.policy.gate","version":"0.1"},"timing_ms":4,"decisions":[{"code":"POLICY_ALLOW","reason":"reads only"}],"delta":{"C5.Execution.mode":"read"},"refs":["mem://run_1"],"digests":{"context_in":"sha256:a","context_out":"sha256:b"},"control":{"halt_pipeline":false,"branch_to":null,"bypass_layers":[],"require_hitl":true,"severity":null}}"#
    );
}

#[test]
fn everything_we_emit_passes_our_own_check() {
    let layer = layer_payload();
    let verification =
        Verification { status: "pass".to_owned(), reason: String::new(), confidence: Some(1.0) };
    let emitted = [
        (intents::LAYER_DECISION, serde_json::to_value(&layer).unwrap()),
        (intents::LAYER_ENTER, serde_json::to_value(layer.enter()).unwrap()),
        (intents::CONTEXT_PATCH, serde_json::to_value(layer.patch()).unwrap()),
        (intents::LAYER_EXIT, serde_json::to_value(layer.exit()).unwrap()),
        (intents::STACK_SELECT, json!({"run_id": "r", "stack_id": "default", "reason": "the only one"})),
        (
            intents::VERIFY_RESULT,
            serde_json::to_value(VerifyResult { run_id: "r".to_owned(), verification: verification.clone() })
                .unwrap(),
        ),
        (
            intents::RUN_SUMMARY,
            serde_json::to_value(RunSummary {
                run_id: "r".to_owned(),
                stack_id: "default".to_owned(),
                layers_executed: vec!["L0.ingress.normalize".to_owned()],
                layers_bypassed: Vec::new(),
                branch_taken: None,
                timing_ms_total: 1,
                delegations: Vec::new(),
                verification: Some(verification),
                refs: Vec::new(),
                notes: None,
            })
            .unwrap(),
        ),
    ];
    for (intent, payload) in emitted {
        let findings = check_payload(intent, &payload);
        assert!(findings.is_empty(), "{intent}: {findings:?}");
    }
}

#[test]
fn optional_fields_may_be_absent() {
    let read: LayerPayload =
        serde_json::from_value(json!({"layer": {"id": "X.own"}, "timing_ms": 1.6})).unwrap();
    assert_eq!((read.layer.version.as_str(), read.timing_ms, read.control), ("0.1", 2, Control::default()));
    assert!(serde_json::from_value::<LayerPayload>(json!({"layer": {"id": "a"}, "timing_ms": -1})).is_err());
}

#[test]
fn a_bad_payload_is_found_at_its_place() {
    let cases = [
        (intents::LAYER_DECISION, json!({}), "$.layer missing"),
        (
            intents::LAYER_DECISION,
            json!({"layer": {"id": "L0"}, "delta": {"C9.X.y": 1}}),
            r#"$.delta["C9.X.y"] key"#,
        ),
        (
            intents::LAYER_DECISION,
            json!({"layer": {"id": "L0"}, "control": {"halt_pipeline": 1}}),
            "$.control.halt_pipeline type",
        ),
        (
            intents::LAYER_DECISION,
            json!({"layer": {"id": "L0"}, "decisions": [{"code": "A"}]}),
            "$.decisions[0].reason missing",
        ),
        (
            intents::LAYER_DECISION,
            json!({"layer": {"id": "L0"}, "digests": {"context_in": 1}}),
            "$.digests.context_in type",
        ),
        (intents::CONTEXT_PATCH, json!({"layer": {"id": "L0"}}), "$.delta missing"),
        (
            intents::CONTROL_BYPASS,
            json!({"layers": [], "allowed": true, "reason": ""}),
            "$.requested_by missing",
        ),
        (intents::CONTROL_BRANCH, json!({"from": "L3.policy.gate", "reason": ""}), "$.to missing"),
        (
            intents::VERIFY_RESULT,
            json!({"verification": {"status": "pass", "confidence": 2}}),
            "$.verification.confidence maximum",
        ),
        (intents::RUN_SUMMARY, json!({"run_id": "r", "layers_executed": [1]}), "$.layers_executed[0] type"),
        (intents::STACK_SELECT, json!({"stack_id": " ", "reason": ""}), "$.stack_id form"),
    ];
    for (intent, payload, expected) in cases {
        let findings = check_payload(intent, &payload).sorted();
        let found: Vec<String> = findings.iter().map(|f| format!("{} {}", f.path, f.rule)).collect();
        assert_eq!(found, [expected], "{intent}");
    }
}
