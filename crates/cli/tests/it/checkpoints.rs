//! Phases and checkpoints of a TASK: their order, what they expect, and what follows where one fails.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{aop, with, writ};
use crate::read_back::{Worked, work};

fn point(id: &str, command: &str) -> Value {
    json!({"checkpoint_id": id, "description": "d", "validation": {"command": command, "expects": "EXIT_CODE_0"}})
}

fn phase(order: i64, checkpoints: Vec<Value>) -> Value {
    json!({"phase_id": format!("P-{order}"), "phase_order": order, "label": "l", "objective": "o",
        "checkpoints": checkpoints})
}

fn task(cli: &Cli, script: &str, phases: Vec<Value>) -> Value {
    with(aop(cli, script), json!({"phases": phases}))
}

/// Such as `C-1 PASS, C-2 FAIL`.
fn statuses(worked: &Worked<'_>) -> String {
    let points = worked.task("T-1")["checkpoints"].as_array().cloned().unwrap_or_default();
    let told = |point: &Value| {
        format!("{} {}", point["checkpoint_id"].as_str().unwrap(), point["status"].as_str().unwrap())
    };
    points.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn attempts(worked: &Worked<'_>) -> u64 {
    worked.task("T-1")["attempts"].as_u64().unwrap()
}

#[test]
fn phases_run_in_ascending_order_and_checkpoints_as_they_are_written() {
    let cli = writ();
    let note = |id: &str| point(id, &format!("sh -c 'echo {id} >> order'"));
    let phases = vec![
        phase(30, vec![note("C-4")]),
        phase(10, vec![note("C-1"), note("C-2")]),
        phase(20, vec![note("C-3")]),
    ];
    let worked = work(&cli, &task(&cli, "aop-success", phases)).succeeded();
    assert_eq!(cli.scratch().read("project/order"), "C-1\nC-2\nC-3\nC-4\n");
    assert_eq!(statuses(&worked), "C-1 PASS, C-2 PASS, C-3 PASS, C-4 PASS");
    assert_eq!(worked.status("T-1"), "done verified");
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    assert!(shown.contains("checkpoint C-3 PASS"), "{shown}");
}

#[test]
fn the_artifacts_of_a_checkpoint_must_exist_before_it_is_validated() {
    let cli = writ();
    let artifact = |path: &str| {
        with(point("C-1", "touch validated"), json!({"expected_artifacts": [{"type": "FILE", "path": path}]}))
    };
    let wants = |path: &str| task(&cli, "write out.txt x; aop-success", vec![phase(1, vec![artifact(path)])]);
    let missing = work(&cli, &wants("other.txt")).failed();
    assert_eq!(missing.reason("T-1"), "check `other.txt` failed: the file does not exist");
    assert_eq!(statuses(&missing), "C-1 FAIL");
    assert!(!cli.project().join("validated").exists());
    assert_eq!(statuses(&work(&cli, &wants("out.txt")).succeeded()), "C-1 PASS");
    assert!(cli.project().join("validated").exists());
}

#[test]
fn a_checkpoint_that_retries_fails_the_attempt_and_is_tried_again() {
    let cli = writ();
    let again =
        with(point("C-1", "sh -c 'test $(wc -l < out) -eq 2'"), json!({"recovery_strategy": "RETRY"}));
    let phases = vec![phase(1, vec![again, point("C-2", "true")])];
    let policy = json!({"execution_policy": {"max_retries": 2, "retry_backoff_seconds": [0]}});
    let worked = work(&cli, &with(task(&cli, "append out x; aop-success", phases), policy)).succeeded();
    assert_eq!((attempts(&worked), worked.status("T-1")), (2, "done verified".to_owned()));
    let first = &worked.shown("T-1")["attempts"][0]["outcome"]["checkpoints"];
    assert_eq!((&first[0]["status"], &first[1]["status"]), (&json!("FAIL"), &json!("PENDING")));
}

#[test]
fn a_checkpoint_that_continues_leaves_a_partial_success() {
    let cli = writ();
    for word in ["CONTINUE", "SKIP"] {
        let goes_on = with(point("C-1", "false"), json!({"recovery_strategy": word}));
        let phases = vec![phase(1, vec![goes_on, point("C-2", "true")])];
        let worked = work(&cli, &task(&cli, "aop-success", phases)).succeeded();
        assert_eq!(statuses(&worked), "C-1 FAIL, C-2 PASS");
        assert_eq!(worked.status("T-1"), "done claimed");
        assert_eq!(worked.result["final_signal"], "PARTIAL_SUCCESS");
        assert_eq!(worked.task("T-1")["final_signal"], "PARTIAL_SUCCESS");
    }
}

#[test]
fn a_checkpoint_that_continues_does_not_excuse_another() {
    let cli = writ();
    let goes_on = with(point("C-1", "false"), json!({"recovery_strategy": "CONTINUE"}));
    let retries = with(point("C-2", "test -e none"), json!({"recovery_strategy": "RETRY"}));
    let worked = work(&cli, &task(&cli, "aop-success", vec![phase(1, vec![goes_on, retries])])).failed();
    assert_eq!(worked.reason("T-1"), "check `test -e none` failed: exit 1, expected 0");
    assert_eq!(worked.task("T-1")["failed_check"]["command"], json!(["test", "-e", "none"]));
    assert_eq!(statuses(&worked), "C-1 FAIL, C-2 FAIL");
}

#[test]
fn a_checkpoint_that_aborts_ends_the_task_without_a_retry_and_rolls_it_back() {
    let cli = writ();
    cli.scratch().write("project/out", "before");
    let aborts = with(point("C-1", "false"), json!({"recovery_strategy": "ABORT"}));
    let phases = vec![phase(1, vec![aborts, point("C-2", "true")])];
    let policy = json!({"execution_policy": {"max_retries": 2, "retry_backoff_seconds": [0]}});
    let mut document = with(task(&cli, "write out after; aop-success", phases), policy);
    document["task"]["expected_outputs"] = json!([{"type": "FILE", "path": "out", "description": "d",
        "rollback_snapshot": {"enabled": true}}]);
    let worked = work(&cli, &document).failed();
    assert_eq!(attempts(&worked), 1);
    assert_eq!(worked.task("T-1")["code"], "E_UNKNOWN");
    assert_eq!(worked.task("T-1")["rule"], "checkpoint_aborted");
    assert_eq!(worked.task("T-1")["final_signal"], "ABORTED");
    assert_eq!(statuses(&worked), "C-1 FAIL, C-2 PENDING");
    assert_eq!(cli.scratch().read("project/out"), "before");
}

#[test]
fn a_checkpoint_without_a_strategy_follows_on_failure() {
    let cli = writ();
    let told = |on_failure: &str| {
        let phases = vec![phase(1, vec![point("C-1", "false"), point("C-2", "true")])];
        let policy = json!({"execution_policy": {
            "on_failure": on_failure, "max_retries": 1, "retry_backoff_seconds": [0],
        }});
        let worked = work(&cli, &with(task(&cli, "aop-success", phases), policy)).failed();
        format!("{}; {} attempts", statuses(&worked), attempts(&worked))
    };
    // The next checkpoint is still looked at, and a failed one is never done.
    assert_eq!(told("REPORT_AND_CONTINUE"), "C-1 FAIL, C-2 PASS; 2 attempts");
    assert_eq!(told("RETRY"), "C-1 FAIL, C-2 PENDING; 2 attempts");
    assert_eq!(told("ABORT_SESSION"), "C-1 FAIL, C-2 PENDING; 1 attempts");
}

#[test]
fn a_checkpoint_that_the_task_skips_is_not_run_and_one_that_passed_is_run_all_the_same() {
    let cli = writ();
    let with_status = |status: &str| with(point("C-1", "false"), json!({"status": status}));
    let told = |status: &str| {
        let worked = work(&cli, &task(&cli, "aop-success", vec![phase(1, vec![with_status(status)])]));
        format!("{} {}", statuses(&worked), worked.status("T-1"))
    };
    assert_eq!(told("SKIP"), "C-1 SKIP done claimed");
    for status in ["PASS", "PENDING", "FAIL"] {
        assert_eq!(told(status), "C-1 FAIL failed", "{status}");
    }
}
