use super::*;
use serde_json::json;

fn result(changes: &Value) -> Vec<u8> {
    let mut document = json!({
        "quest_id": "ol-31", "bead_id": "ol-31.2", "worktree": "/w", "passed": true,
        "steps": [{"name": "build", "exit_code": 0, "passed": true, "duration": "1.5s"}], "summary": "good",
    });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    document.to_string().into_bytes()
}

fn judged(bytes: &[u8]) -> String {
    let verdict = validate(bytes, false);
    format!("{} {}", verdict.code, verdict.details.rule.unwrap_or_default()).trim_end().to_owned()
}

#[test]
fn passed_is_the_gate_and_must_be_a_real_boolean() {
    assert!(parse(&result(&json!({}))).unwrap().passed);
    let failed = json!({"passed": false, "steps": [{"name": "t", "exit_code": 1, "passed": false}]});
    let read = parse(&result(&failed)).unwrap();
    assert_eq!((read.passed, read.failed_step().unwrap().name.as_str()), (false, "t"));
    for passed in [json!("true"), json!(1), json!(null)] {
        assert!(parse(&result(&json!({"passed": passed}))).is_err(), "{passed}");
    }
}

#[test]
fn a_result_that_contradicts_itself_has_not_passed() {
    let step = json!({"steps": [{"name": "t", "passed": false}]});
    assert_eq!(judged(&result(&step)), "SCHEMA_INVALID inconsistent");
    let exit = json!({"steps": [{"name": "t", "passed": true, "exit_code": 2}]});
    assert_eq!(judged(&result(&exit)), "SCHEMA_INVALID inconsistent");
}

#[test]
fn a_result_may_come_in_its_envelope() {
    let payload: Value = serde_json::from_slice(&result(&json!({}))).unwrap();
    let mut envelope = json!({
        "schema_version": 1, "contract": "STATE_CHECKPOINT_HANDOFF", "source_system": "ol", "target_system": "ao",
        "operation": OPERATION, "payload": payload, "meta": {"timestamp": "2026-03-01T00:00:00Z"},
    });
    assert_eq!(parse(envelope.to_string().as_bytes()).unwrap().bead_id, "ol-31.2");
    envelope["payload"]["passed"] = json!("yes");
    assert_eq!(judged(envelope.to_string().as_bytes()), "SCHEMA_INVALID type");
    envelope["schema_version"] = json!(2);
    assert_eq!(judged(envelope.to_string().as_bytes()), "UNKNOWN_SCHEMA_VERSION version");
}

#[test]
fn go_durations_are_read() {
    let cases = [
        ("3.4s", Some(3400)),
        ("1h0m1s", Some(3_601_000)),
        ("350ms", Some(350)),
        ("0s", Some(0)),
        ("", None),
        ("3", None),
        ("s", None),
        ("1.2.3s", None),
        ("-1s", None),
        ("99999999999999999999999h", None),
    ];
    for (text, millis) in cases {
        assert_eq!(go_duration(text), millis.map(Duration::from_millis), "{text}");
    }
}
