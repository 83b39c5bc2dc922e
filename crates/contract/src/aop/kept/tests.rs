use serde_json::{Value, json};

use super::*;
use crate::aop::{effective, parse_task};

const FULL: &str = include_str!("../../../vectors/aop/valid/c-2.2-task-full.json");

fn defaults() -> TaskDefaults {
    TaskDefaults {
        session_id: "S-0".to_owned(),
        task_id: "T-0".to_owned(),
        agent_name: "unknown".to_owned(),
        now: Timestamp::from_millis(0),
    }
}

fn full() -> Value {
    serde_json::from_str(FULL).unwrap()
}

/// What is kept of the full example after a change that breaks its schema, or the paths that refuse it.
fn after(change: impl FnOnce(&mut Value)) -> Result<Task, Vec<String>> {
    let mut value = full();
    change(&mut value);
    let verdict = parse_task(value.to_string().as_bytes()).unwrap_err();
    kept(&value, &verdict.details.findings, &defaults())
        .map_err(|findings| findings.sorted().into_iter().map(|finding| finding.path).collect())
}

#[test]
fn every_limit_that_can_be_read_is_kept() {
    let (whole, _) = parse_task(FULL.as_bytes()).unwrap();
    let task = after(|value| value["task"]["category"] = json!("HOUSEKEEPING")).unwrap();
    assert_eq!(task.task.category.as_str(), "OTHER");
    assert_eq!(effective::budget(&task), effective::budget(&whole));
    assert_eq!(effective::access(&task), effective::access(&whole));
    assert_eq!(effective::timeout(&task), effective::timeout(&whole));
    assert_eq!(effective::retries(&task), effective::retries(&whole));
    assert_eq!((task.guard_rails, task.phases), (whole.guard_rails, whole.phases));
    assert_eq!(task.task.expected_outputs, whole.task.expected_outputs);
}

#[test]
fn an_output_without_a_description_keeps_its_check() {
    let task = after(|value| {
        value["task"]["expected_outputs"][0].as_object_mut().unwrap().remove("description");
        value["task"]["expected_outputs"][1]["validation"]["expects"] = json!("GREEN");
    });
    let outputs = task.unwrap().task.expected_outputs;
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[0].validation.as_ref().unwrap().command, "python -m py_compile src/module_x.py");
    assert_eq!(outputs[1].validation.as_ref().unwrap().expects.as_str(), "EXIT_CODE_0");
}

#[test]
fn a_limit_that_cannot_be_read_refuses_the_task() {
    for (pointer, wrong, path) in [
        ("/task/access/filesystem/write_paths", json!("src"), "$.task.access.filesystem.write_paths"),
        ("/task/access/network", json!("SOME"), "$.task.access.network"),
        ("/task/access", json!({"hosts": []}), "$.task.access.hosts"),
        ("/task/budgets/max_cost_usd", json!("much"), "$.task.budgets.max_cost_usd"),
        ("/task/constraints/read_only_mode", json!("yes"), "$.task.constraints.read_only_mode"),
        ("/guard_rails/timeout_seconds", json!(-1), "$.guard_rails.timeout_seconds"),
        ("/guard_rails", json!([]), "$.guard_rails"),
        ("/target/capabilities/network_access", json!(1), "$.target.capabilities.network_access"),
        ("/execution_policy/timeout_seconds", json!("1800"), "$.execution_policy.timeout_seconds"),
        ("/execution_policy", json!("short"), "$.execution_policy"),
        ("/task/environment/workspace_root", json!(7), "$.task.environment.workspace_root"),
        ("/task/extensions", json!("x_sandbox"), "$.task.extensions"),
    ] {
        let refused = after(|value| *value.pointer_mut(pointer).unwrap() = wrong).unwrap_err();
        assert_eq!(refused, [path], "{pointer}");
    }
}

#[test]
fn a_task_that_asks_for_nothing_is_refused() {
    let refused = after(|value| value["task"]["objective"] = json!(" ")).unwrap_err();
    assert_eq!(refused, ["$.task.objective"]);
    let refused =
        after(|value| *value = json!({"aop_version": "2.0.0", "message_type": "TASK"})).unwrap_err();
    assert_eq!(refused, ["$.task.objective"]);
}

#[test]
fn what_a_task_lacks_has_a_default() {
    let task = after(|value| {
        *value = json!({
            "aop_version": "2.1", "message_type": "TASK", "task": {"objective": "o", "urgency": 7},
            "phases": [{"checkpoints": [{"validation": {"command": "true"}}]}],
        });
    })
    .unwrap();
    assert_eq!((task.session.session_id.as_str(), task.task.task_id.as_str()), ("S-0", "T-0"));
    assert_eq!(task.task.environment.workspace_root, ".");
    let validation = task.phases[0].checkpoints[0].validation.as_ref().unwrap();
    assert_eq!((validation.command.as_str(), validation.expects.as_str()), ("true", "EXIT_CODE_0"));
}

#[test]
fn a_check_without_a_command_refuses_the_task() {
    let refused = after(|value| {
        value["phases"][0]["checkpoints"][0]["validation"] = json!({"expects": "EXIT_CODE_0"});
    });
    assert_eq!(refused.unwrap_err(), ["$.phases[0].checkpoints[0].validation.command"]);
}
