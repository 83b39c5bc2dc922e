use super::*;
use crate::aee::{parse, vectors};
use proptest::prelude::*;
use serde_json::json;

/// A valid result with some fields replaced; null removes one, so a real null is written `"null"`.
fn with(changes: &Value) -> Vec<u8> {
    let mut document = json!({
        "v": "1", "id": "evt-00002", "ts": "2026-03-01T10:00:00Z", "type": "result", "from": "agent.a",
        "to": "human.ann", "intent": "docs.outline.write", "corr": "corr-0001", "reply_to": "evt-00001",
        "trace": null, "priority": "normal", "requires": null, "payload": {"ok": true}, "sig": null,
    });
    let fields = document.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => fields.remove(name),
            Value::String(text) if text == "null" => fields.insert(name.clone(), Value::Null),
            _ => fields.insert(name.clone(), value.clone()),
        };
    }
    document.to_string().into_bytes()
}

fn judged(bytes: &[u8], strict: bool) -> String {
    let verdict = validate(bytes, strict);
    assert_eq!(verdict.allow, verdict.code == "OK");
    let warnings: Vec<&str> = verdict.details.warnings.iter().map(|w| w.rule).collect();
    match &verdict.details.rule {
        Some(rule) => format!("{} {rule} {}", verdict.code, verdict.details.path.unwrap()),
        None => format!("{} {}", verdict.code, warnings.join(" ")).trim_end().to_owned(),
    }
}

#[test]
fn each_fault_has_its_code_rule_and_place() {
    let cases = [
        (json!({}), "OK"),
        (json!({"type": "event", "reply_to": null}), "OK"),
        (json!({"type": "event", "reply_to": "x"}), "OK"),
        (json!({"type": "task", "reply_to": "evt-00001"}), "OK"),
        (json!({"sig": "text"}), "OK"),
        (json!({"sig": {"alg": "ed25519"}}), "OK"),
        (json!({"id": "12345678"}), "OK"),
        (json!({"id": "1234567"}), "SCHEMA_INVALID min_length $.id"),
        (json!({"id": "äöüäöüä"}), "SCHEMA_INVALID min_length $.id"),
        (json!({"corr": "1234567"}), "SCHEMA_INVALID min_length $.corr"),
        (json!({"corr": null}), "MISSING_REQUIRED_INPUT missing $.corr"),
        (json!({"corr": "null"}), "MISSING_REQUIRED_INPUT missing $.corr"),
        (json!({"from": ""}), "MISSING_REQUIRED_INPUT empty $.from"),
        (json!({"intent": "ab"}), "SCHEMA_INVALID min_length $.intent"),
        (json!({"ts": "2026-3-1"}), "SCHEMA_INVALID min_length $.ts"),
        (json!({"type": "Result"}), "SCHEMA_INVALID enum $.type"),
        (json!({"priority": "critical"}), "SCHEMA_INVALID enum $.priority"),
        (json!({"payload": []}), "SCHEMA_INVALID type $.payload"),
        (json!({"trace": "t"}), "SCHEMA_INVALID type $.trace"),
        (json!({"trace": {"span_id": 7}}), "SCHEMA_INVALID type $.trace.span_id"),
        (json!({"sig": 1}), "SCHEMA_INVALID type $.sig"),
        (json!({"reply_to": null}), "MISSING_REQUIRED_INPUT missing $.reply_to"),
        (json!({"reply_to": "null"}), "MISSING_REQUIRED_INPUT missing $.reply_to"),
        (json!({"reply_to": "1234567"}), "SCHEMA_INVALID min_length $.reply_to"),
        (json!({"reply_to": 12_345_678}), "SCHEMA_INVALID type $.reply_to"),
        (json!({"type": "error", "reply_to": null}), "MISSING_REQUIRED_INPUT missing $.reply_to"),
        (json!({"requires": {"timeout_ms": -1}}), "SCHEMA_INVALID minimum $.requires.timeout_ms"),
        (json!({"requires": {"min_confidence": 1.1}}), "SCHEMA_INVALID maximum $.requires.min_confidence"),
        (
            json!({"requires": {"decision_evidence": "some"}}),
            "SCHEMA_INVALID enum $.requires.decision_evidence",
        ),
        (json!({"requires": {"color": "red"}}), "OK"),
        (json!({"v": "2", "id": null}), "UNKNOWN_SCHEMA_VERSION version $.v"),
        (json!({"v": 1}), "UNKNOWN_SCHEMA_VERSION version $.v"),
        (json!({"v": null, "id": "short"}), "MISSING_REQUIRED_INPUT missing $.v"),
    ];
    for (changes, expected) in cases {
        assert_eq!(judged(&with(&changes), false), expected, "{changes}");
    }
}

#[test]
fn recommendations_are_warnings_and_rules_when_strict() {
    let cases = [
        (json!({"ts": "yesterday at noon"}), "OK ts_form", "SCHEMA_INVALID ts_form $.ts"),
        (json!({"replyto": 1}), "OK unknown_field", "SCHEMA_INVALID unknown_field $.replyto"),
        (json!({"hop_count_of_bus": 1}), "OK", "SCHEMA_INVALID unknown_field $.hop_count_of_bus"),
        (json!({"x_hops": 1}), "OK", "OK"),
        (json!({"intent": "aee.work.plan"}), "OK reserved_intent", "SCHEMA_INVALID reserved_intent $.intent"),
        (json!({"type": "error"}), "OK missing missing", "MISSING_REQUIRED_INPUT missing $.payload.code"),
        (
            json!({"payload": {"references": [{"id": "evt-00001"}]}}),
            "OK missing",
            "SCHEMA_INVALID missing $.payload.references[0].type",
        ),
        (
            json!({"payload": {"decision_evidence": {"mood": "good"}}}),
            "OK unknown_field",
            "SCHEMA_INVALID unknown_field $.payload.decision_evidence.mood",
        ),
    ];
    for (changes, relaxed, strict) in cases {
        assert_eq!(judged(&with(&changes), false), relaxed, "{changes}");
        assert_eq!(judged(&with(&changes), true), strict, "{changes}");
    }
}

#[test]
fn input_that_is_not_a_json_object_is_refused() {
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    let cases: [(&[u8], &str); 6] = [
        (b"", "SCHEMA_INVALID empty_input $"),
        (b" \n", "SCHEMA_INVALID empty_input $"),
        (b"{", "SCHEMA_INVALID json $"),
        (b"{\"v\":\"1\",\"v\":\"1\"}", "SCHEMA_INVALID json $"),
        (b"[]", "SCHEMA_INVALID not_an_object $"),
        (large.as_bytes(), "SCHEMA_INVALID too_large $"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(judged(bytes, false), expected);
    }
}

#[test]
fn the_vectors_hold() {
    for file in [
        include_str!("../../../vectors/aee/envelope.json"),
        include_str!("../../../vectors/aee/reserved-intents.json"),
    ] {
        vectors::run(file, |_, bytes, strict| validate(bytes, strict));
    }
}

fn any_text() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), "\\PC{0,12}".prop_map(Value::from), any::<i32>().prop_map(Value::from)]
}

proptest! {
    #[test]
    fn judging_never_panics(bytes: Vec<u8>, strict: bool) {
        validate(&bytes, strict);
    }

    #[test]
    fn judging_near_envelopes_never_panics(
        name in prop::sample::select(shape::FIELDS.to_vec()), value in any_text(), strict: bool,
    ) {
        let bytes = with(&json!({name: value}));
        let verdict = validate(&bytes, strict);
        prop_assert_eq!(parse(&bytes).is_ok(), validate(&bytes, false).allow);
        prop_assert!(!verdict.reason.is_empty());
    }

    #[test]
    fn unknown_fields_survive_reading_and_printing(
        extra in prop::collection::btree_map("[a-z_]{1,8}[0-9]", any_text(), 0..5), ts in "[0-9TZ: -]{10,30}",
    ) {
        let mut changes = json!({"ts": ts});
        for (name, value) in &extra {
            changes[name] = if value.is_null() { json!({"deep": null}) } else { value.clone() };
        }
        let first = parse(&with(&changes)).unwrap();
        let printed = serde_json::to_vec(&first).unwrap();
        let second = parse(&printed).unwrap();
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(&second.ts, &ts);
        prop_assert_eq!(second.extra.len(), extra.len());
        prop_assert_eq!(serde_json::to_vec(&second).unwrap(), printed);
    }
}
