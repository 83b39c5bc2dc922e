//! Rounds of an orchestrator: what its packets leave in the rows, the locks it lists, and when a task may be retried.

use std::time::Duration;

use ops::{assignment, task};
use serde_json::{Value, json};

use crate::crew_world::{Crew, denied};
use crate::handoff::exported;

fn packet(crew: &Crew, name: &str, scope: &str) -> Value {
    json!({
        "schema_version": "1.0.0", "run_id": crew.run, "packet_type": "assignment", "global_objective": "o",
        "task": {
            "task_id": name, "title": format!("Title of {name}"), "type": "parallelizable", "dependencies": [],
            "lock_scope": [scope], "forbidden_scope": ["docs"], "acceptance_criteria": ["all tests pass"],
            "worklog_path": format!("worklogs/{}/{name}.jsonl", crew.run), "timeout_seconds": 90,
            "heartbeat_interval_seconds": 9, "priority": "high",
        },
        "active_locks": [], "context_package": [], "required_output_schema": "subagent_result_v1",
    })
}

fn todo(name: &str, id: &str) -> Value {
    json!({"task_id": name, "status": "todo", "owner": "", "reason": "r", "delta_id": id})
}

fn round(crew: &Crew, deltas: Value, packets: Value) -> Value {
    let mut round = crew.envelope(deltas);
    round["assignments"] = packets;
    round
}

#[test]
fn a_row_takes_over_everything_that_its_packet_says() {
    let mut crew = Crew::new();
    let given = round(&crew, json!([todo("T-1", "1")]), json!([packet(&crew, "T-1", "src")]));
    crew.step(given, false).unwrap();
    let bundle = exported(&mut crew, false).unwrap().document;
    let row = &bundle["ledger"][0];
    assert_eq!(
        json!([row["title"], row["lock_scope"], row["priority"], row["timeout_seconds"]]),
        json!(["Title of T-1", ["src"], "high", 90])
    );
    assert_eq!(row["heartbeat_interval_seconds"], 9);
    assert_eq!(bundle["acceptance_targets"], json!([{"task_id": "T-1", "criteria": ["all tests pass"]}]));
    assert_eq!(row["x_spec"]["title"], "Title of T-1");
    crew.holds();
    // After the task was blocked, the next packet may describe it in another way; a plan's own columns stay.
    let token = crew.show()["active_locks"][0]["x_fencing_token"].as_i64().unwrap();
    crew.explain("T-1", token).unwrap();
    let mut result = crew.result("T-1", token, "blocked");
    result["acceptance_check"] = json!([]);
    crew.submit(result, Vec::new()).unwrap();
    let again = round(&crew, json!([todo("T-1", "2")]), json!([packet(&crew, "T-1", "lib")]));
    crew.step(again, false).unwrap();
    assert_eq!(crew.row("T-1")["lock_scope"], json!(["lib"]));
    crew.task("T-2", &["own"], json!({"title": "Own title"}));
    let other = round(&crew, json!([]), json!([packet(&crew, "T-2", "own/part")]));
    crew.step(other, false).unwrap();
    let row = crew.row("T-2");
    assert_eq!(
        json!([row["title"], row["lock_scope"], row["priority"]]),
        json!(["Own title", ["own"], "high"])
    );
    crew.holds();
}

#[test]
fn a_packets_dependencies_must_be_done() {
    let mut crew = Crew::new();
    crew.task("T-2", &["b"], json!({}));
    let mut early = packet(&crew, "T-1", "a");
    early["task"]["dependencies"] = json!(["T-2"]);
    let given = round(&crew, json!([todo("T-1", "1")]), json!([early]));
    let before = crew.world.state();
    denied(crew.step(given.clone(), false), "DEPENDENCY_NOT_MET", "dependency_not_done");
    assert_eq!(crew.world.state(), before);
    let token = crew.issue("T-2").unwrap().token;
    crew.submit(crew.result("T-2", token, "done"), Vec::new()).unwrap();
    crew.step(given, false).unwrap();
    assert_eq!(crew.row("T-1")["dependencies"], json!(["T-2"]));
}

#[test]
fn every_difference_between_listed_and_granted_locks_is_answered() {
    let mut crew = Crew::new();
    crew.task("T-9", &["lib"], json!({}));
    let held = crew.issue("T-9").unwrap().token;
    let mut first = packet(&crew, "T-1", "src");
    // The contract's example: the packet says that T-9 holds src/api.py.
    first["active_locks"] = json!([{"task_id": "T-9", "resource": "api.py", "active": true}]);
    let mut given = round(&crew, json!([todo("T-1", "1")]), json!([first]));
    given["active_locks"] = json!([
        {"task_id": "T-1", "resource": "./src/", "active": true},
        {"task_id": "T-7", "resource": "gone", "active": true},
        {"task_id": "T-9", "resource": "lib", "active": false},
    ]);
    let answer = crew.step(given, false).unwrap();
    let found: Vec<Value> = answer
        .lock_differences
        .iter()
        .map(|one| json!([one.path, one.task_id, one.resource, one.difference]))
        .collect();
    assert_eq!(
        json!(found),
        json!([
            ["$.active_locks[1]", "T-7", "gone", "not_held"],
            ["$.active_locks[2]", "T-9", "lib", "still_held"],
            ["$.assignments[0].active_locks[0]", "T-9", "api.py", "not_held"],
        ])
    );
    // A list grants nothing and releases nothing.
    crew.heartbeat("T-9", held).unwrap();
    let silent = crew.apply(crew.envelope(json!([todo("T-3", "3")])), false).unwrap();
    let unlisted: Vec<&str> = silent.lock_differences.iter().map(|one| one.task_id.as_str()).collect();
    assert_eq!(unlisted, ["T-9", "T-1"]);
    assert!(silent.lock_differences.iter().all(|one| one.difference == "not_listed"));
    let mut without = crew.envelope(json!([todo("T-4", "4")]));
    without.as_object_mut().unwrap().remove("active_locks");
    assert_eq!(crew.apply(without, false).unwrap().lock_differences, []);
}

#[test]
fn a_task_is_not_assigned_again_before_its_time() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({"priority": "high"}));
    crew.task("T-2", &["b"], json!({}));
    let wait = |ms: u64, id: &str| {
        json!([{
            "task_id": "T-1", "status": "todo", "owner": "", "reason": "later", "delta_id": id, "retry_after_ms": ms,
        }])
    };
    crew.apply(crew.envelope(wait(60_000, "w1")), false).unwrap();
    crew.world.clock().advance(Duration::from_secs(20));
    let error = crew.issue("T-1").unwrap_err();
    assert_eq!(error.code.as_str(), "DEPENDENCY_NOT_MET");
    assert_eq!(error.details["details"]["rule"], "retry_after");
    assert_eq!(error.details["details"]["retry_after_ms"], 40_000);
    let given = round(&crew, json!([]), json!([packet(&crew, "T-1", "a")]));
    denied(crew.step(given, false), "DEPENDENCY_NOT_MET", "retry_after");
    let empty = round(&crew, json!([]), json!([]));
    let actions = crew.step(empty, false).unwrap().next_actions;
    assert!(actions.contains(&"assign T-1 in 40.0s".to_owned()), "{actions:?}");
    let ready = |crew: &mut Crew| {
        let found = task::ready::ready(&mut crew.world.cx, 10).unwrap();
        found.iter().map(|task| task.title.clone()).collect::<Vec<String>>()
    };
    assert_eq!(ready(&mut crew), ["T-2"]);
    // Without a name, the next task that is ready is assigned.
    let next = |crew: &mut Crew| crew.issue_with(assignment::issue::Request::default());
    assert_eq!(next(&mut crew).unwrap().task_id, "T-2");
    denied(next(&mut crew), "DEPENDENCY_NOT_MET", "nothing_ready");
    crew.world.clock().advance(Duration::from_secs(40));
    assert_eq!(next(&mut crew).unwrap().task_id, "T-1");
    crew.holds();
}

#[test]
fn a_wait_can_be_taken_back_and_a_clock_that_is_set_back_does_not_prolong_it() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    let wait = |ms: u64, id: &str| {
        json!([{
            "task_id": "T-1", "status": "todo", "owner": "", "reason": "later", "delta_id": id, "retry_after_ms": ms,
        }])
    };
    crew.apply(crew.envelope(wait(5_000, "w1")), false).unwrap();
    crew.world.clock().jump_wall(-86_400_000);
    let error = crew.issue("T-1").unwrap_err();
    assert_eq!(error.details["details"]["retry_after_ms"], 5_000);
    crew.apply(crew.envelope(wait(9_007_199_254_740_992, "w2")), false).unwrap();
    denied(crew.issue("T-1"), "DEPENDENCY_NOT_MET", "retry_after");
    crew.apply(crew.envelope(wait(0, "w3")), false).unwrap();
    crew.issue("T-1").unwrap();
}

#[test]
fn strict_mode_refuses_unknown_fields_in_results_and_packets() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    let mut given = round(&crew, json!([]), json!([packet(&crew, "T-1", "a")]));
    given["assignments"][0]["task"]["mood"] = json!("good");
    denied(crew.step(given, true), "SCHEMA_INVALID", "unknown_field");
    let token = crew.issue("T-1").unwrap().token;
    let submit = |crew: &mut Crew,
                  field: &str,
                  strict: bool,
                  token: Option<contract::domain::crew::token::LockToken>| {
        let key = crew.key();
        let mut document = crew.result("T-1", 0, "done");
        for name in ["x_token", "x_fencing_token"] {
            document.as_object_mut().unwrap().remove(name);
        }
        document[field] = json!("more");
        let request = ops::result::submit::Request { document, token, cost: None, tokens: None, strict };
        ops::result::submit::submit(&mut crew.world.cx, &key, &request)
    };
    denied(submit(&mut crew, "mood", true, Some(token)), "SCHEMA_INVALID", "unknown_field");
    // A token that is missing is a missing input, not a conflict.
    denied(submit(&mut crew, "x_mood", false, None), "MISSING_REQUIRED_INPUT", "missing");
    crew.explain("T-1", token).unwrap();
    submit(&mut crew, "x_mood", true, Some(token)).unwrap();
}
