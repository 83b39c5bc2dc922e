//! The fields of AOP messages, as the published schema names them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::documents::writ;

/// What each object of the contract requires. The names of the objects are those of the schema. Sections 1.1 and 1.2 name the
/// headers and the parts of a TASK and of a RESPONSE; the other fields are in every example of their object, and v2.0.0
/// required them.
const REQUIRED: [(&str, &str); 26] = [
    ("agent", "name provider model"),
    ("alternative_model", "provider model fallback_trigger"),
    ("checkpoint", "checkpoint_id description"),
    ("checkpoint_result", "checkpoint_id status"),
    ("environment", "workspace_root"),
    ("error_details", "error_code message"),
    ("expected_artifact", "type"),
    ("expected_output", "type description"),
    ("heartbeat_event", "aop_version message_type event session_id task_id timestamp agent"),
    ("input", "type"),
    ("output_artifact", "type path status"),
    ("phase", "phase_id phase_order label objective"),
    (
        "priority_escalation_event",
        "aop_version message_type event session_id task_id timestamp old_priority new_priority reason escalated_by",
    ),
    ("progress", "percentage message"),
    ("progress_update_event", "aop_version message_type event session_id task_id timestamp agent progress"),
    (
        "response_message",
        "aop_version schema_version protocol_family message_type session_id task_id agent task_status",
    ),
    (
        "rollback_initiated_event",
        "aop_version message_type event session_id task_id timestamp trigger artifacts_rolled_back",
    ),
    ("rolled_back_artifact", "path restored_from status"),
    ("session", "session_id created_at orchestrator origin"),
    ("session_final_report_event", "aop_version message_type event session_id timestamp"),
    ("target", "agent_name role provider model"),
    ("task", "task_id objective category complexity environment"),
    ("task_message", "aop_version schema_version protocol_family message_type session target task"),
    ("task_status", "state"),
    ("timing", "started_at completed_at duration_seconds"),
    ("validation", "command expects"),
];

/// Objects that only writ writes; the contract says nothing about their fields.
const OWN: [&str; 8] = [
    "audit_trail",
    "delegation_edge",
    "delegation_node",
    "role_assignment",
    "session_status",
    "task_outcome",
    "totals",
    "version_fallback_event",
];

fn schema() -> Value {
    writ().run(["schema", "show", "aop"]).success().json()
}

#[test]
fn the_schema_requires_what_the_contract_requires_and_labels_anything_else() {
    let schema = schema();
    let defs = schema["$defs"].as_object().unwrap();
    let words = |value: &Value| -> BTreeSet<String> {
        value.as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let required: BTreeMap<&str, BTreeSet<String>> = defs
        .iter()
        .map(|(name, object)| (name.as_str(), words(&object["required"])))
        .filter(|(name, fields)| !fields.is_empty() && !OWN.contains(name))
        .collect();
    let expected: BTreeMap<&str, BTreeSet<String>> = REQUIRED
        .iter()
        .map(|(name, fields)| (*name, fields.split(' ').map(str::to_owned).collect()))
        .collect();
    assert!(OWN.iter().all(|name| defs.contains_key(*name)));
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/execution.md")).unwrap();
    let none = BTreeSet::new();
    for (name, fields) in &required {
        let known = expected.get(name).unwrap_or(&none);
        for field in fields.difference(known) {
            let label = format!("`{name}.{field}` (REQUIRED");
            assert!(guide.contains(&label), "docs/execution.md does not label the new field as {label}");
        }
    }
    for (name, fields) in &expected {
        let missing: Vec<&String> = fields.difference(required.get(name).unwrap_or(&none)).collect();
        assert!(missing.is_empty(), "the schema does not require {missing:?} of {name}");
    }
}
