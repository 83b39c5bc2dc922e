use super::*;
use serde_json::json;

#[test]
fn reserved_payloads_are_checked_against_their_shapes() {
    let good = [
        (STATUS_PING, Type::Task, json!({})),
        (STATUS_PING, Type::Result, json!({"pong": true, "ts": "2026-03-01T10:00:00Z"})),
        (STATUS_HEALTH, Type::Result, json!({"status": "degraded", "details": {"queue": 4}})),
        (SPEC_QUERY, Type::Result, json!({"aee_version": "1", "extensions": []})),
        (CAPABILITY_LIST, Type::Task, json!({"namespace_filter": "code."})),
        (CAPABILITY_LIST, Type::Result, json!({"intents": ["code.review.request"]})),
        (CONTEXT_FETCH, Type::Task, json!({"id": "evt-00001"})),
        (CONTEXT_FETCH, Type::Result, json!({"found": false})),
        (CONTEXT_REFUTE, Type::Task, json!({"id": "evt-00001", "reason": "out of date"})),
        (CONTEXT_REFUTE, Type::Result, json!({"acknowledged": true})),
        (
            VALIDATE_PAYLOAD,
            Type::Task,
            json!({"intent": "a.b", "payload_to_validate": {}, "type_hint": "error"}),
        ),
        (VALIDATE_PAYLOAD, Type::Result, json!({"valid": false, "errors": ["no"]})),
        (STATUS_PING, Type::Error, json!({"code": "E_DOWN", "message": "not now"})),
        ("code.review.request", Type::Task, json!({"anything": 1})),
    ];
    for (intent, kind, payload) in good {
        let findings = check(intent, kind, &payload);
        assert!(findings.is_empty(), "{intent} {kind:?} {findings:?}");
    }
    let bad = [
        (STATUS_PING, Type::Task, json!({"hello": 1}), "$.hello unknown_field"),
        (STATUS_PING, Type::Result, json!({"pong": false}), "$.pong const"),
        (STATUS_HEALTH, Type::Task, json!({"deep": true}), "$.deep unknown_field"),
        (STATUS_HEALTH, Type::Result, json!({"status": "fine"}), "$.status enum"),
        (SPEC_QUERY, Type::Result, json!({"aee_version": 1}), "$.aee_version type"),
        (CAPABILITY_LIST, Type::Result, json!({"intents": "all"}), "$.intents type"),
        (CONTEXT_FETCH, Type::Task, json!({}), "$.id missing"),
        (CONTEXT_FETCH, Type::Result, json!({"envelope": {}}), "$.found missing"),
        (CONTEXT_REFUTE, Type::Task, json!({"id": "evt-00001"}), "$.reason missing"),
        (CONTEXT_REFUTE, Type::Result, json!({"acknowledged": "yes"}), "$.acknowledged type"),
        (
            VALIDATE_PAYLOAD,
            Type::Task,
            json!({"intent": "a.b", "payload_to_validate": 1}),
            "$.payload_to_validate type",
        ),
        (VALIDATE_PAYLOAD, Type::Result, json!({}), "$.valid missing"),
        (STATUS_PING, Type::Error, json!({"code": "E_DOWN"}), "$.message missing"),
    ];
    for (intent, kind, payload, expected) in bad {
        let findings = check(intent, kind, &payload).sorted();
        let found: Vec<String> = findings.iter().map(|f| format!("{} {}", f.path, f.rule)).collect();
        assert_eq!(found, [expected], "{intent} {kind:?}");
    }
}
