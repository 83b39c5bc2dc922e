use super::*;
use serde_json::json;

fn with(changes: &Value) -> Vec<u8> {
    let mut document = json!({
        "id": "cand-1", "type": "solution", "content": "Use one lock", "source": {"session_id": "s", "message_index": 3},
        "extracted_at": "2026-03-01T00:00:00Z", "is_current": true, "last_reward_at": "0001-01-01T00:00:00Z",
    });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    document.to_string().into_bytes()
}

#[test]
fn a_candidate_survives_reading_and_printing() {
    let first = parse(&with(&json!({"confidence": 0, "metadata": null, "helpful_count": 2}))).unwrap();
    assert_eq!((first.utility, first.confidence, first.tier.as_str()), (0.5, Some(0.0), "bronze"));
    let second = parse(&serde_json::to_vec(&first).unwrap()).unwrap();
    assert_eq!(first, second);
    assert_eq!(second.extra["helpful_count"], json!(2));
}

#[test]
fn a_bad_candidate_is_refused_with_its_place() {
    let cases = [
        (json!({"type": "idea"}), "SCHEMA_INVALID", "$.type"),
        (json!({"content": ""}), "MISSING_REQUIRED_INPUT", "$.content"),
        (json!({"utility": 2}), "SCHEMA_INVALID", "$.utility"),
        (json!({"extracted_at": "yesterday"}), "SCHEMA_INVALID", "$.extracted_at"),
        (json!({"is_current": "yes"}), "SCHEMA_INVALID", "$.is_current"),
        (json!({"maturity": "old"}), "SCHEMA_INVALID", "$.maturity"),
    ];
    for (changes, code, path) in cases {
        let verdict = validate(&with(&changes), false);
        assert_eq!((verdict.code.as_str(), verdict.details.path.as_deref()), (code, Some(path)), "{changes}");
    }
}
