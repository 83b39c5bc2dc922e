use super::*;
use proptest::prelude::*;

fn with(changes: &Value) -> Vec<u8> {
    let mut document = json!({
        "schema_version": 1, "contract": "INVOCATION_ENVELOPE", "source_system": "ao", "target_system": "ol",
        "operation": "skill.invoke", "payload": {}, "meta": {"timestamp": "2026-03-01T00:00:00Z", "correlation_id": "c-1"},
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::String(word) if word == "absent" => drop(document.as_object_mut().unwrap().remove(name)),
            _ => document[name] = value.clone(),
        }
    }
    document.to_string().into_bytes()
}

fn judged(bytes: &[u8], strict: bool) -> String {
    let verdict = validate(bytes, strict);
    let warnings: Vec<&str> = verdict.details.warnings.iter().map(|warning| warning.rule).collect();
    match &verdict.details.rule {
        Some(rule) => format!("{} {rule} {}", verdict.code, verdict.details.path.unwrap()),
        None => format!("{} {}", verdict.code, warnings.join(" ")).trim_end().to_owned(),
    }
}

#[test]
fn each_fault_has_its_code_rule_and_place() {
    let cases = [
        (json!({}), "OK"),
        (
            json!({"x": 1, "meta": {"timestamp": "2026-03-01T00:00:00+02:00", "correlation_id": "c", "hop": 2}}),
            "OK",
        ),
        (json!({"schema_version": "absent"}), "OK version_absent"),
        (json!({"schema_version": 0}), "UNKNOWN_SCHEMA_VERSION version $.schema_version"),
        (json!({"schema_version": 2, "contract": "NEW"}), "UNKNOWN_SCHEMA_VERSION version $.schema_version"),
        (json!({"schema_version": -1}), "UNKNOWN_SCHEMA_VERSION version $.schema_version"),
        (json!({"schema_version": "1"}), "SCHEMA_INVALID type $.schema_version"),
        (json!({"schema_version": null}), "SCHEMA_INVALID type $.schema_version"),
        (json!({"schema_version": true}), "SCHEMA_INVALID type $.schema_version"),
        (json!({"schema_version": 1.5}), "SCHEMA_INVALID type $.schema_version"),
        (json!({"contract": "NEW"}), "SCHEMA_INVALID enum $.contract"),
        (json!({"contract": "absent"}), "MISSING_REQUIRED_INPUT missing $.contract"),
        (json!({"source_system": "AO"}), "SCHEMA_INVALID enum $.source_system"),
        (json!({"target_system": "ao"}), "OK same_system"),
        (json!({"operation": ""}), "MISSING_REQUIRED_INPUT empty $.operation"),
        (json!({"operation": "event.emit"}), "OK other_contract"),
        (json!({"operation": "our.own"}), "OK"),
        (json!({"payload": null}), "MISSING_REQUIRED_INPUT missing $.payload"),
        (json!({"payload": []}), "SCHEMA_INVALID type $.payload"),
        (json!({"meta": "absent"}), "MISSING_REQUIRED_INPUT missing $.meta"),
        (json!({"meta": {}}), "MISSING_REQUIRED_INPUT missing $.meta.timestamp"),
        (json!({"meta": {"timestamp": "2026-03-01T00:00:00"}}), "SCHEMA_INVALID form $.meta.timestamp"),
        (json!({"meta": {"timestamp": "2026-03-01T00:00:00Z"}}), "OK uncorrelated"),
        (
            json!({"meta": {"timestamp": "2026-03-01T00:00:00Z", "correlation_id": ""}}),
            "SCHEMA_INVALID min_length $.meta.correlation_id",
        ),
        (
            json!({"contract": "OBSERVABILITY_EVENTS", "operation": "event.emit", "payload": {"severity": "fatal"}}),
            "OK severity",
        ),
        (
            json!({"contract": "STATE_CHECKPOINT_HANDOFF", "operation": "validate.stage1.result"}),
            "MISSING_REQUIRED_INPUT missing $.payload.bead_id",
        ),
    ];
    for (changes, expected) in cases {
        assert_eq!(judged(&with(&changes), false), expected, "{changes}");
    }
    assert_eq!(
        judged(&with(&json!({"target_system": "ao"})), true),
        "SCHEMA_INVALID same_system $.target_system"
    );
    assert_eq!(judged(&with(&json!({"x": 1})), true), "SCHEMA_INVALID unknown_field $.x");
    assert_eq!(judged(b"{}{}", false), "SCHEMA_INVALID json $");
}

#[test]
fn a_refusal_is_reported_once_and_never_answered() {
    let now = Timestamp::from_millis(0);
    let bad = with(&json!({"schema_version": 2}));
    let event = rejection(System::Ol, &bad, &validate(&bad, false), now).unwrap();
    assert_eq!(
        serde_json::to_string(&event).unwrap(),
        r#"{"schema_version":1,"contract":"OBSERVABILITY_EVENTS","source_system":"ol","target_system":"ao","operation":"event.emit","payload":{"code":"UNKNOWN_SCHEMA_VERSION","event_type":"bridge.envelope.rejected","message":"$.schema_version: only version 1 is known; this is 2","rule":"version","severity":"error"},"meta":{"correlation_id":"c-1","timestamp":"1970-01-01T00:00:00.000Z"}}"#
    );
    let printed = serde_json::to_vec(&event).unwrap();
    assert_eq!(judged(&printed, true), "OK");
    assert!(rejection(System::Ao, &printed, &validate(&bad, false), now).is_none());
    let nonsense = rejection(System::Ao, b"{", &validate(b"{", false), now).unwrap();
    assert_eq!((nonsense.target_system, nonsense.correlation_id), (System::Ol, None));
}

proptest! {
    #[test]
    fn judging_never_panics(bytes: Vec<u8>, strict: bool) {
        validate(&bytes, strict);
        stage1::validate(&bytes, strict);
    }

    #[test]
    fn unknown_fields_survive_reading_and_printing(name in "[a-z]{1,6}_[a-z]", number: i32) {
        let first = parse(&with(&json!({&name: number, "meta": {"timestamp": "2026-03-01T00:00:00Z", &name: number}}))).unwrap();
        let second = parse(&serde_json::to_vec(&first).unwrap()).unwrap();
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(second.extra.get(&name), Some(&json!(number)));
        prop_assert_eq!(second.meta_extra.get(&name), Some(&json!(number)));
    }
}
