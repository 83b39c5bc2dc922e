use crate::aee;
use serde_json::json;

fn input(extra: &serde_json::Value) -> String {
    let mut document = json!({
        "v": "1", "id": "evt-00001", "ts": "2026-03-01T10:00:00+00:00", "type": "event", "from": "agent.a",
        "to": "log.aocl", "intent": "a.b.c", "corr": "corr-0001", "priority": "low", "payload": {"b": 1.0, "a": "é"},
    });
    for (name, value) in extra.as_object().unwrap() {
        document[name] = value.clone();
    }
    let envelope = aee::parse(document.to_string().as_bytes()).unwrap();
    String::from_utf8(envelope.signature_input().unwrap()).unwrap()
}

#[test]
fn ten_fields_in_canonical_order_are_signed() {
    let expected = concat!(
        r#"{"corr":"corr-0001","from":"agent.a","id":"evt-00001","intent":"a.b.c","payload":{"a":"é","b":1},"#,
        r#""reply_to":null,"to":"log.aocl","ts":"2026-03-01T10:00:00+00:00","type":"event","v":"1"}"#
    );
    assert_eq!(input(&json!({})), expected);
}

#[test]
fn only_the_ten_fields_change_the_signed_bytes() {
    let plain = input(&json!({}));
    let free =
        json!({"x_hop": 3, "trace": {"trace_id": "t"}, "priority": "high", "requires": {}, "sig": "s"});
    assert_eq!(input(&free), plain);
    for bound in [
        json!({"reply_to": "evt-00000"}),
        json!({"payload": {"b": 2, "a": "é"}}),
        json!({"ts": "2026-03-01T10:00:00Z"}),
        json!({"to": "log.b"}),
    ] {
        assert_ne!(input(&bound), plain, "{bound}");
    }
}
#[test]
fn the_vectors_hold() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("../../../vectors/aee/signature-input.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let envelope = aee::parse(case["input"].to_string().as_bytes()).unwrap();
        assert_eq!(
            envelope.signature_input().unwrap(),
            case["signed"].as_str().unwrap().as_bytes(),
            "{}",
            case["name"]
        );
    }
}
