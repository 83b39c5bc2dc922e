use serde_json::{Value, json};

use crate::domain::failure_code::FailureCode;
use crate::intake::{Executors, Intake, Refused, read};

fn task(id: &str, pattern: &str, more: Value) -> Value {
    let mut task = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "TASK",
        "session": {
            "session_id": "S", "created_at": "2026-02-26T14:00:00Z", "orchestrator": "o", "origin": "CLI",
            "workflow_pattern": pattern,
        },
        "target": {"agent_name": "Emma", "role": "EXECUTOR", "provider": "CODEX", "model": "m"},
        "task": {
            "task_id": id, "objective": "Do it", "category": "OTHER", "complexity": "LOW",
            "environment": {"workspace_root": "/srv/repo"},
            // Nothing is written, so that no order is needed for it.
            "access": {"filesystem": {"read_paths": [], "write_paths": []}},
            "extensions": {"x_command": ["emma"]},
        },
    });
    for (name, value) in more.as_object().unwrap() {
        match name.as_str() {
            "x_depends_on" => task["task"]["extensions"][name] = value.clone(),
            _ => task["task"][name] = value.clone(),
        }
    }
    task
}

fn all(tasks: &[Value]) -> Result<Intake, Refused> {
    read(json!(tasks).to_string().as_bytes(), &Executors::default())
}

/// What each task waits for.
fn waits(tasks: &[Value]) -> Vec<String> {
    all(tasks).unwrap().plan.tasks.iter().map(|task| task.depends_on.join("+")).collect()
}

fn refused(tasks: &[Value]) -> (Option<FailureCode>, Vec<String>) {
    let refused = all(tasks).unwrap_err();
    (refused.code, refused.findings.sorted().into_iter().map(|finding| finding.path).collect())
}

#[test]
fn the_pattern_of_the_session_is_the_shape_of_the_graph() {
    let three = |pattern: &str| waits(&["a", "b", "c"].map(|id| task(id, pattern, json!({}))));
    assert_eq!(three("CHAIN"), ["", "a", "b"]);
    assert_eq!(three("PARALLEL"), ["", "", ""]);
    assert_eq!(three("MAP_REDUCE"), ["", "", "a+b"]);
    assert_eq!(three("HIERARCHICAL"), ["", "", ""]);
    assert_eq!(waits(&[task("a", "SINGLE", json!({}))]), [""]);
    let two = ["a", "b"].map(|id| task(id, "SINGLE", json!({})));
    assert_eq!(refused(&two), (Some(FailureCode::SchemaValidation), vec!["$[1]".to_owned()]));
    let tasks: Vec<Value> = ["a", "b"].map(|id| task(id, "PARALLEL", json!({}))).into();
    assert_eq!(all(&tasks).unwrap().session_id.as_deref(), Some("S"));
}

#[test]
fn a_child_waits_for_its_parent_in_a_hierarchy() {
    let boss = json!({"constraints": {"delegation_allowed": true}});
    let child = json!({"parent_task_id": "boss"});
    let tasks = |pattern: &str| [task("child", pattern, child.clone()), task("boss", pattern, boss.clone())];
    assert_eq!(waits(&tasks("HIERARCHICAL")), ["boss", ""]);
    assert_eq!(waits(&tasks("PARALLEL")), ["", ""]);
}

#[test]
fn a_task_may_name_what_it_waits_for() {
    let tasks = [task("a", "PARALLEL", json!({})), task("b", "PARALLEL", json!({"x_depends_on": ["a"]}))];
    assert_eq!(waits(&tasks), ["", "a"]);
    let tasks = [task("a", "CHAIN", json!({"x_depends_on": ["b"]})), task("b", "CHAIN", json!({}))];
    assert_eq!(refused(&tasks), (Some(FailureCode::SchemaValidation), vec!["$[0].depends_on".to_owned()]));
    let tasks = [task("a", "CHAIN", json!({"x_depends_on": ["z"]})), task("b", "CHAIN", json!({}))];
    let at = "$[0].task.extensions.x_depends_on[0]".to_owned();
    assert_eq!(refused(&tasks), (Some(FailureCode::DependencyFailed), vec![at]));
}

#[test]
fn tasks_of_other_sessions_and_ids_twice_are_refused() {
    let mut other = task("b", "CHAIN", json!({}));
    other["session"]["session_id"] = json!("T");
    let found = refused(&[task("a", "CHAIN", json!({})), other]);
    assert_eq!(found, (Some(FailureCode::SchemaValidation), vec!["$[1].session.session_id".to_owned()]));
    let twice = [task("a", "CHAIN", json!({})), task("a", "CHAIN", json!({}))];
    assert_eq!(refused(&twice), (Some(FailureCode::SchemaValidation), vec!["$[1].task.task_id".to_owned()]));
}

#[test]
fn a_parent_has_to_allow_it_and_a_fourth_level_is_too_deep() {
    let allowed = json!({"delegation_allowed": true});
    let level = |id: &str, parent: Option<&str>| {
        task(id, "HIERARCHICAL", json!({"parent_task_id": parent, "constraints": allowed}))
    };
    let three = [level("1", None), level("2", Some("1")), level("3", Some("2"))];
    assert_eq!(waits(&three), ["", "1", "2"]);
    let mut four = three.to_vec();
    four.push(level("4", Some("3")));
    let at = vec!["$[3].task.parent_task_id".to_owned()];
    assert_eq!(refused(&four), (Some(FailureCode::MaxDepthExceeded), at));
    let silent = [task("1", "HIERARCHICAL", json!({})), level("2", Some("1"))];
    let at = vec!["$[1].task.parent_task_id".to_owned()];
    assert_eq!(refused(&silent), (Some(FailureCode::PermissionDenied), at));
    let circle = [level("1", Some("2")), level("2", Some("1"))];
    assert_eq!(refused(&circle).0, Some(FailureCode::SchemaValidation));
}
