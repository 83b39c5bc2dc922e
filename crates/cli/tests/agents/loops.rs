//! `writ loop` with each real program: one that closes its task, and one that forgets to.

use serde_json::{Value, json};
use std::time::Duration;

use crate::lab::{Lab, shell};

/// Loops over one task with this check; the model takes these steps.
#[track_caller]
fn looped(program: &str, commands: &[&str], check: Option<&str>) -> Value {
    let mut steps: Vec<Value> = commands.iter().map(|command| shell(program, command)).collect();
    steps.push(json!({"text": "FINISHED"}));
    let lab = Lab::with_model(json!(steps));
    let project = lab.cli.project();
    let place = project.to_str().unwrap();
    let words = ["task", "create", "--title", "Paint the fence", "--agent", "eve", "--request-id", "make"];
    let checks: Vec<&str> = check.map(|check| vec!["--check", check]).unwrap_or_default();
    let made =
        lab.writ(words.iter().copied().chain(["--project-id", place, "--output", "json"]).chain(checks));
    let id = made.success().json()["data"]["task"]["id"].as_str().unwrap().to_owned();
    let words = ["loop", "--cooldown", "0", "--project-dir", place, "--command", program, "--output", "json"];
    let looped = lab.cli.call(words).deadline(Duration::from_secs(180)).run();
    let report = looped.success().json()["data"].clone();
    assert_eq!(report["results"][0]["status"], "completed", "{looped}");
    assert!(project.join("fence").is_file(), "{looped}");
    assert!(lab.told().contains("Paint the fence"), "{looped}");
    lab.writ(["task", "get", "--id", &id, "--output", "json"]).success().json()["data"].clone()
}

const PAINT: &str = "touch fence";
const CLOSE: &str = "writ task complete --id $WRIT_TASK --outcome done --summary painted --request-id d1";

#[track_caller]
fn closes_its_task(program: &str) {
    let task = looped(program, &[PAINT, CLOSE], None);
    assert_eq!((&task["status"], &task["evidence"]), (&json!("completed"), &json!("claimed")), "{task}");
}

#[track_caller]
fn forgets_to_close_its_task(program: &str) {
    let task = looped(program, &[PAINT], Some("test -e fence"));
    assert_eq!((&task["status"], &task["evidence"]), (&json!("completed"), &json!("verified")), "{task}");
}

#[test]
fn claude_in_a_loop_edits_and_closes_its_task() {
    closes_its_task("claude");
}

#[test]
fn codex_in_a_loop_edits_and_closes_its_task() {
    closes_its_task("codex");
}

#[test]
fn gemini_in_a_loop_edits_and_closes_its_task() {
    closes_its_task("gemini");
}

#[test]
fn opencode_in_a_loop_edits_and_closes_its_task() {
    closes_its_task("opencode");
}

#[test]
fn claude_that_forgets_to_close_its_task_is_judged_by_the_checks() {
    forgets_to_close_its_task("claude");
}

#[test]
fn codex_that_forgets_to_close_its_task_is_judged_by_the_checks() {
    forgets_to_close_its_task("codex");
}

#[test]
fn gemini_that_forgets_to_close_its_task_is_judged_by_the_checks() {
    forgets_to_close_its_task("gemini");
}

#[test]
fn opencode_that_forgets_to_close_its_task_is_judged_by_the_checks() {
    forgets_to_close_its_task("opencode");
}
