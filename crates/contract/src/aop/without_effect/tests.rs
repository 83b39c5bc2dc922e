use serde_json::{Value, json};

use super::of;

const MINIMAL: &str = include_str!("../../../vectors/aop/valid/c-2.1-task-minimal.json");

/// The fields of the minimal TASK with this value at the pointer that are named and were not before.
fn named(parent: &str, field: &str, value: Value) -> Vec<String> {
    let minimal: Value = serde_json::from_str(MINIMAL).unwrap();
    let before = of(&serde_json::from_value(minimal.clone()).unwrap());
    let mut task = minimal;
    task.pointer_mut(parent).unwrap()[field] = value;
    let after = of(&serde_json::from_value(task).unwrap());
    after.into_iter().filter(|told| !before.contains(told)).collect()
}

#[test]
fn fields_about_what_is_not_there_are_named() {
    let policy = |value: Value| named("", "execution_policy", value);
    assert_eq!(
        policy(json!({"on_failure": "RETRY", "retry_backoff_seconds": [1]})),
        [
            "$.execution_policy.on_failure: RETRY does nothing, because max_retries is 0",
            "$.execution_policy.retry_backoff_seconds: max_retries is 0",
        ]
    );
    assert_eq!(
        policy(json!({"on_failure": "RETRY", "max_retries": 1, "retry_backoff_seconds": [1]})),
        [""; 0]
    );
    let beat =
        |enabled| json!({"heartbeat": {"enabled": enabled, "interval_seconds": 3, "max_missed_beats": 2}});
    assert_eq!(
        policy(beat(false)),
        [
            "$.execution_policy.heartbeat.interval_seconds: the heartbeat is not enabled",
            "$.execution_policy.heartbeat.max_missed_beats: the heartbeat is not enabled",
        ]
    );
    assert_eq!(policy(beat(true)), [""; 0]);
    assert_eq!(
        named("/task/environment", "shell", json!("bash")),
        ["$.task.environment.shell: only validations are run by it, and there are none"]
    );
    assert_eq!(
        named("/task", "inputs", json!([{"type": "TEXT"}, {"type": "TEXT", "content": "x"}])),
        ["$.task.inputs[0]: a TEXT without content says nothing"]
    );
}

#[test]
fn the_fields_of_a_snapshot_that_is_not_enabled_are_named() {
    let output = |enabled| {
        let snapshot = json!({"enabled": enabled, "snapshot_path": "s", "snapshot_strategy": "COPY"});
        json!([{"type": "FILE", "path": "a", "description": "d", "rollback_snapshot": snapshot}])
    };
    let told = named("/task", "expected_outputs", output(false));
    let at = "$.task.expected_outputs[0].rollback_snapshot";
    assert!(told.contains(&format!("{at}.snapshot_path: the snapshot is not enabled")), "{told:?}");
    assert!(told.contains(&format!("{at}.snapshot_strategy: the snapshot is not enabled")), "{told:?}");
    assert_eq!(named("/task", "expected_outputs", output(true)).len(), told.len() - 2);
}
