use super::*;
use serde_json::json;

fn harvest(changes: &Value) -> Vec<u8> {
    let mut document = json!({
        "id": "learn-2026-03-01-aa11", "type": "ANTI_PATTERN", "title": "Do not share a lock file",
        "summary": "Two writers.", "category": "process", "quest_id": "ol-31", "tags": ["locks"],
        "source_artifacts": [".agents/a;b.md", "c.md"], "created_at": "2026-03-01T10:00:00+02:00",
    });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    document.to_string().into_bytes()
}

#[test]
fn the_contracts_table_is_followed_row_by_row() {
    let candidate = LearningCandidate::from(parse(&harvest(&json!({}))).unwrap());
    let expected = json!({
        "id": "learn-2026-03-01-aa11", "type": "failure", "content": "Do not share a lock file",
        "context": "Two writers.", "extracted_at": "2026-03-01T10:00:00+02:00", "is_current": true,
        "source": {"transcript_path": ".agents/a%3Bb.md;c.md", "message_index": 0,
            "timestamp": "2026-03-01T10:00:00+02:00", "session_id": "ol-harvest-ol-31"},
        "metadata": {"category": "process", "quest_id": "ol-31", "tags": ["locks"],
            "source_artifacts": [".agents/a;b.md", "c.md"]},
        "utility": 0.5, "maturity": "provisional", "tier": "bronze",
    });
    assert_eq!(serde_json::to_value(&candidate).unwrap(), expected);
    assert!(super::super::candidate::validate(expected.to_string().as_bytes(), false).allow);
}

#[test]
fn what_the_table_does_not_know_is_refused() {
    let cases = [
        (json!({"type": "learning"}), "SCHEMA_INVALID", "enum"),
        (json!({"type": "INSIGHT"}), "SCHEMA_INVALID", "enum"),
        (json!({"quest_id": ""}), "MISSING_REQUIRED_INPUT", "empty"),
        (json!({"created_at": "2026-03-01"}), "SCHEMA_INVALID", "form"),
        (json!({"tags": "locks"}), "SCHEMA_INVALID", "type"),
    ];
    for (changes, code, rule) in cases {
        let verdict = validate(&harvest(&changes), false);
        assert_eq!((verdict.code.as_str(), verdict.details.rule.as_deref()), (code, Some(rule)), "{changes}");
    }
    assert!(validate(&harvest(&json!({"score": 3})), false).allow);
    assert!(!validate(&harvest(&json!({"score": 3})), true).allow);
}
