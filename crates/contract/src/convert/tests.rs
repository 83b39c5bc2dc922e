use std::path::{Path, PathBuf};

use super::*;

const NOW: &str = "2026-03-01T08:00:00Z";

fn to(kind: Kind, document: &Value) -> Converted {
    let context = ConvertContext { now: Timestamp::parse(NOW).unwrap(), root: None };
    convert(document.to_string().as_bytes(), kind, &context)
        .unwrap_or_else(|verdict| panic!("{}\n{document:#}", json!(verdict)))
}

#[expect(clippy::disallowed_methods, reason = "the vectors are files")]
fn vectors(folder: &str) -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(folder);
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let read = |path: PathBuf| {
        let value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        (path, value)
    };
    found.into_iter().map(read).collect()
}

fn operator_inputs(validator: &str) -> Vec<Value> {
    let all = vectors("operator/valid").into_iter().map(|(_, vector)| vector);
    let mine: Vec<Value> =
        all.filter(|vector| vector["validator"] == validator).map(|vector| vector["input"].clone()).collect();
    assert!(!mine.is_empty());
    mine
}

fn aop_messages(message: &str) -> Vec<(PathBuf, Value)> {
    let mut mine = vectors("aop/valid");
    mine.retain(|(_, value)| value["message_type"] == message);
    assert!(!mine.is_empty());
    mine
}

#[test]
fn an_assignment_survives_the_round_trip() {
    for assignment in operator_inputs("assignment") {
        let there = to(Kind::Aop, &assignment);
        assert!(there.lost.iter().all(|lost| lost.path.starts_with("$.active_locks")), "{:?}", there.lost);
        let back = to(Kind::Assignment, &there.document);
        assert_eq!(back.document["run_id"], assignment["run_id"]);
        assert_eq!(back.document["global_objective"], assignment["global_objective"]);
        assert_eq!(back.document["context_package"], assignment["context_package"]);
        let mut task = assignment["task"].clone();
        if task.get("priority").is_none() {
            task["priority"] = json!("normal");
        }
        for (name, value) in task.as_object().unwrap() {
            assert_eq!(back.document["task"][name], *value, "{name}");
        }
    }
}

#[test]
fn every_task_can_be_assigned_and_enveloped() {
    for (path, task) in aop_messages("TASK") {
        to(Kind::Assignment, &task);
        let enveloped = to(Kind::Aee, &task);
        assert_eq!(enveloped.document["payload"]["task"], task, "{}", path.display());
        assert_eq!(enveloped.lost, []);
    }
}

#[test]
fn every_event_can_be_enveloped_whole() {
    for (_, event) in aop_messages("EVENT") {
        let enveloped = to(Kind::Aee, &event);
        assert_eq!((&enveloped.document["payload"]["event"], enveloped.lost.len()), (&event, 0));
        assert_eq!(enveloped.document["ts"], event["timestamp"]);
    }
}

#[test]
fn a_result_survives_the_round_trip() {
    for result in operator_inputs("result") {
        let there = to(Kind::Aop, &result);
        assert_eq!(there.lost, []);
        let mut back = to(Kind::Result, &there.document).document;
        back["schema_version"] = result["schema_version"].clone();
        assert_eq!(back, result);
    }
}

#[test]
fn every_response_has_a_result() {
    for (path, response) in aop_messages("RESPONSE") {
        let result = to(Kind::Result, &response);
        let is_done = response["task_status"]["final_signal"] == "SUCCESS";
        assert_eq!(result.document["status"] == "done", is_done, "{}", path.display());
    }
}

#[test]
fn a_stage_1_result_goes_through_its_envelope() {
    let result = json!({"quest_id": "q-1", "bead_id": "q-1.2", "passed": false, "summary": "s",
        "steps": [{"name": "test", "exit_code": 1, "passed": false}]});
    let there = to(Kind::Bridge, &result);
    assert_eq!(there.lost, []);
    assert_eq!(there.document["meta"]["correlation_id"], "q-1/q-1.2");
    let back = to(Kind::Stage1, &there.document);
    assert_eq!(back.document, result);
    let lost: Vec<&str> = back.lost.iter().map(|lost| lost.path.as_str()).collect();
    assert_eq!(lost, ["$.meta.correlation_id", "$.meta.timestamp", "$.source_system", "$.target_system"]);
}

/// Every text of the source is in the result, listed as lost, or implied by the new form.
#[test]
fn nothing_is_dropped_silently() {
    let task = aop_messages("TASK").into_iter().find(|(path, _)| path.ends_with("c-2.2-task-full.json"));
    let (_, task) = task.unwrap();
    let made = to(Kind::Assignment, &task);
    let text = made.document.to_string();
    let mut leaves = Vec::new();
    collect(&task, &mut String::from("$"), &mut leaves);
    for (path, leaf) in leaves {
        let implied = ["$.aop_version", "$.schema_version", "$.protocol_family", "$.message_type"];
        let carried = implied.contains(&path.as_str())
            || made
                .lost
                .iter()
                .any(|lost| lost.path == path || lost.path == "$.task.access.filesystem.write_paths")
            || text.to_lowercase().contains(&leaf.to_lowercase())
            || path.starts_with("$.task.access.filesystem.write_paths")
            || path == "$.task.environment.workspace_root"
            || path.ends_with(".read_only")
            || path == "$.execution_policy.heartbeat.enabled"
            || path.rsplit('.').next() == Some("type");
        assert!(carried, "{path}: {leaf}\n{text}");
    }
    let lost: Vec<&str> = made.lost.iter().map(|lost| lost.path.as_str()).collect();
    for path in ["$.target.model", "$.task.budgets.max_cost_usd", "$.guard_rails.require_final_signal"] {
        assert!(lost.contains(&path), "{lost:?}");
    }
}

fn collect(value: &Value, path: &mut String, leaves: &mut Vec<(String, String)>) {
    let length = path.len();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                *path += ".";
                *path += name;
                collect(value, path, leaves);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                *path = format!("{path}[{index}]");
                collect(item, path, leaves);
                path.truncate(length);
            }
        }
        Value::Null => {}
        Value::String(text) => leaves.push((path.clone(), text.clone())),
        other => leaves.push((path.clone(), other.to_string())),
    }
}

#[test]
fn an_impossible_conversion_is_refused() {
    let context = ConvertContext { now: Timestamp::parse(NOW).unwrap(), root: None };
    let refusal = |document: &str, to: Kind| {
        let verdict = convert(document.as_bytes(), to, &context).unwrap_err();
        format!("{} {}", verdict.code, verdict.details.rule.unwrap_or_default())
    };
    assert_eq!(refusal("{}", Kind::Aop), "SCHEMA_INVALID unknown_kind");
    assert_eq!(refusal(r#"{"locks": []}"#, Kind::Aop), "SCHEMA_INVALID no_conversion");
    assert_eq!(refusal(r#"{"aop_version": "2.0.2-C"}"#, Kind::Aee), "E_SCHEMA_VALIDATION missing");
}
