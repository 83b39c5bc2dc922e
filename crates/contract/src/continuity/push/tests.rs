use serde_json::json;

use super::*;

fn faults(value: Value) -> Vec<String> {
    Push::of(value)
        .unwrap_err()
        .sorted()
        .iter()
        .map(|finding| format!("{} {}", finding.path, finding.rule))
        .collect()
}

#[test]
fn every_field_that_has_another_type_is_named() {
    let texts = ["kind", "message", "key", "value", "scope", "file_path", "status"];
    let fields: &[(&str, &str, &[&str])] = &[
        ("event", "", &["kind", "message"]),
        (
            "memories",
            "[0]",
            &[
                "key",
                "value",
                "value_type",
                "scope",
                "scope_id",
                "expires_at",
                "kind",
                "half_life_days",
                "pinned",
                "source_task_id",
            ],
        ),
        ("artifacts", "[0]", &["file_path", "content_type"]),
        ("task_status", "", &["status", "summary", "label", "blocked_reason"]),
    ];
    for (part, index, names) in fields {
        for name in *names {
            let mut whole = json!({"kind": "k", "message": "m", "key": "k", "value": "v", "scope": "global",
                "file_path": "f", "status": "pending"});
            whole[*name] = json!({"not": "this"});
            let part_value = if index.is_empty() { whole } else { json!([whole]) };
            let found = faults(json!({*part: part_value}));
            assert_eq!(found, [format!("$.{part}{index}.{name} type")]);
        }
        assert_eq!(faults(json!({*part: 5})), [format!("$.{part} type")]);
    }
    assert_eq!(faults(json!({"task_id": 5})), ["$.task_id type"]);
    assert_eq!(faults(json!([])), ["$ type"]);
    for name in texts {
        assert!(
            faults(json!({"event": {}, "memories": [{}], "artifacts": [{}], "task_status": {}}))
                .iter()
                .any(|fault| fault.ends_with(&format!(".{name} missing"))),
            "{name}"
        );
    }
}

#[test]
fn null_and_unknown_fields_count_as_absent() {
    let read = |text: &str| Push::of(Push::parse(text.as_bytes()).unwrap()).unwrap();
    let empty = read(r#"{"task_id": null, "event": null, "memories": null, "artifacts": [], "x": 1}"#);
    assert!(empty.is_empty() && empty.task_id().is_none());
    assert_eq!(read(r#"{"task_id": ""}"#).task_id(), None);
}

#[test]
fn fields_that_a_push_does_not_have_are_named() {
    let document = json!({
        "event": {"kind": "k", "message": "m", "metadata": {"any": 1}, "color": "red"},
        "memories": [{"key": "k", "value": "v", "scope": "global"}, {"ttl": 5}],
        "note": {"deep": 1},
    });
    assert_eq!(Push::ignored(&document), ["$.event.color", "$.memories[1].ttl", "$.note"]);
    assert_eq!(Push::ignored(&json!({"memories": null, "task_id": 5})), Vec::<String>::new());
}

#[test]
fn documents_that_readers_understand_differently_are_refused() {
    let rule = |bytes: &[u8]| Push::parse(bytes).unwrap_err().sorted()[0].rule;
    for bytes in [
        &b"{\"task_id\": \"a\", \"task_id\": \"b\"}"[..],
        b"",
        b"{} {}",
        b"{\"task_id\": NaN}",
        b"{\"task_id\": \"\xff\"}",
        b"{\"task_id\": \"\\ud800\"}",
        "[".repeat(200).as_bytes(),
    ] {
        assert_eq!(rule(bytes), "parse", "{}", String::from_utf8_lossy(bytes));
    }
    let padded = |length: usize| format!("{{}}{}", " ".repeat(length - 2));
    assert!(Push::parse(padded(limits::DOCUMENT_BYTES_MAX).as_bytes()).is_ok());
    assert_eq!(rule(padded(limits::DOCUMENT_BYTES_MAX + 1).as_bytes()), "too_large");
    let many = |length: usize| {
        let artifacts: Vec<Value> = (0..length).map(|n| json!({"file_path": n.to_string()})).collect();
        Push::of(json!({"artifacts": artifacts}))
    };
    assert!(many(limits::PUSH_ITEMS_MAX).is_ok());
    assert_eq!(many(limits::PUSH_ITEMS_MAX + 1).unwrap_err().sorted()[0].rule, "too_large");
}

#[test]
fn json_in_a_metadata_text_is_parsed() {
    assert_eq!(metadata(&json!("{\"a\": 1}")), json!({"a": 1}));
    assert_eq!(metadata(&json!(" [1]")), json!([1]));
    for kept in [json!("5"), json!("plain"), json!("{broken"), json!({"a": 1}), json!(null)] {
        assert_eq!(metadata(&kept), kept);
    }
}
