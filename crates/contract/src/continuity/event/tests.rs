use super::*;

fn of_change(kind: &str, message: &str, payload: &Value) -> (String, String, Value) {
    let stored = StoredEvent { kind, message, payload, is_change: true, is_ours: true };
    let Printed { kind, message, metadata } = printed(&stored);
    (kind, message, metadata)
}

#[test]
fn a_change_is_printed_with_the_kind_and_the_fields_of_the_contract() {
    let memory = json!({
        "id": 1, "scope": "global", "scope_id": "", "key": "k", "value": "v", "value_type": "string",
        "kind": "fact", "half_life_days": null, "pinned": false, "expires_at": null, "source_task_id": null,
    });
    let artifact = json!({
        "id": "artifact_1", "task_id": "task_1", "project_id": null, "file_path": "a.rs", "content_type": "",
    });
    let lease = json!({"boot_id": "b", "until_millis": 9});
    let claim = json!({"agent": "ann", "token": 3, "lease": lease});
    let cases = [
        ("task_created", json!({"change": "task_created", "title": "t"}), "task_created", Value::Null),
        ("task_claimed", json!({"change": "task_claimed", "claim": claim}), "task_claimed", Value::Null),
        ("agent_focus", json!({"change": "agent_focused", "agent": "ann"}), "agent_focus", Value::Null),
        (
            "task_priority",
            json!({"change": "task_prioritized", "task_id": "task_1", "priority": 4}),
            "task_priority_changed",
            json!({"priority": 4}),
        ),
        (
            "memory_upserted",
            json!({"change": "memory_set", "memory": memory}),
            "memory_upserted",
            json!({"key": "k", "value_type": "string", "scope": "global"}),
        ),
        (
            "memory_deleted",
            json!({"change": "memory_deleted", "scope": "project", "scope_id": "p", "key": "k"}),
            "memory_delete",
            json!({"key": "k", "scope": "project", "scope_id": "p"}),
        ),
        (
            "memory_gc",
            json!({"change": "memory_collected", "ids": [1, 2]}),
            "memory_gc",
            json!({"deleted": 2}),
        ),
        (
            "artifact_added",
            json!({"change": "artifact_added", "artifact": artifact}),
            "artifact_added",
            json!({"artifact_id": "artifact_1", "file_path": "a.rs"}),
        ),
        (
            "run_owned",
            json!({"change": "run_owned", "run_id": "run_1", "owner": {"pid": 1, "boot_id": "b"}}),
            "run_owned",
            json!({"run_id": "run_1"}),
        ),
    ];
    for (stored, payload, kind, metadata) in cases {
        assert_eq!(of_change(stored, "m", &payload), (kind.to_owned(), "m".to_owned(), metadata), "{stored}");
    }
}

#[test]
fn the_message_of_a_changed_status_names_it_however_it_was_stored() {
    let payload =
        json!({"change": "task_moved", "from": "todo", "to": "failed", "evidence": null, "reason": "r"});
    let metadata = json!({"from": "pending", "to": "blocked", "reason": "failure:r"});
    for (stored, message) in [
        ("Status changed to: blocked", "Status changed to: blocked"),
        ("Task started", "Status changed to: blocked (Task started)"),
        ("", "Status changed to: blocked"),
    ] {
        let expected = ("task_status".to_owned(), message.to_owned(), metadata.clone());
        assert_eq!(of_change("task_status", stored, &payload), expected);
    }
}

#[test]
fn what_an_agent_wrote_is_printed_as_it_was_written() {
    let payload = json!({"change": "task_moved", "to": "done", "outcome": "done", "lease": 1});
    for kind in ["task_closed", "task_priority", "note"] {
        let stored = StoredEvent { kind, message: "m", payload: &payload, is_change: false, is_ours: false };
        let expected = Printed { kind: kind.to_owned(), message: "m".to_owned(), metadata: payload.clone() };
        assert_eq!(printed(&stored), expected);
    }
    let ours = json!({"outcome": "done", "summary": "s", "label": null});
    let stored =
        StoredEvent { kind: "task_closed", message: "s", payload: &ours, is_change: false, is_ours: true };
    assert_eq!(printed(&stored).metadata, json!({"outcome": "completed", "summary": "s"}));
}

#[test]
fn a_printed_kind_is_found_under_every_name_it_was_stored_with() {
    assert_eq!(stored_kinds("memory_delete"), ["memory_delete", "memory_deleted"]);
    assert_eq!(stored_kinds("note"), ["note"]);
}
