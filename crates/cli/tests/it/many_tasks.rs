//! Runs with very many tasks: they end, and everything about them can be read.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::writ;

fn submit(cli: &Cli, tasks: Vec<Value>) -> Value {
    let document = json!({"objective": "Many", "workspace": ".", "max_parallel": 8, "task": tasks});
    cli.scratch().write("project/plan.json", document.to_string());
    let call = cli.call(["run", "plan.json", "--output", "json"]).deadline(Duration::from_mins(30));
    call.run().json()
}

/// Everything that shows a run works for this one.
#[track_caller]
fn is_readable(cli: &Cli, run: &str, tasks: usize) {
    let read = |words: &[&str]| {
        let output = cli.run(words);
        output.success();
        output.stdout
    };
    let shown: Value = serde_json::from_str(&read(&["runs", "show", run, "--output", "json"])).unwrap();
    assert_eq!(shown["data"]["tasks"].as_array().unwrap().len(), tasks);
    assert!(read(&["runs", "show", run]).contains("Many"));
    assert!(read(&["runs", "list"]).contains(run));
    assert!(!read(&["trace", run]).is_empty());
    assert!(!read(&["trace", run, "--output", "ndjson"]).is_empty());
    assert!(!read(&["task", "list", "--agent", "ann"]).is_empty());
    assert!(!read(&["status"]).is_empty());
}

#[test]
fn soak_a_run_of_many_tasks_ends_and_can_be_read() {
    let tasks = testkit::rounds(100);
    let cli = writ();
    let made = |number: u32| match number {
        0 => json!({"id": "t0", "command": ["true"]}),
        _ => {
            json!({"id": format!("t{number}"), "command": ["true"], "depends_on": [format!("t{}", number / 2)]})
        }
    };
    let answer = submit(&cli, (0..tasks).map(made).collect());
    assert_eq!(answer["success"], true, "{}", answer["error"]);
    let listed = (tasks as usize).min(contract::domain::limits::RUN_TASKS_LISTED_MAX);
    assert_eq!(answer["data"]["tasks"].as_array().unwrap().len(), listed);
    is_readable(&cli, answer["data"]["run_id"].as_str().unwrap(), tasks as usize);
    testkit::Storm { rounds: tasks.into(), operations: tasks.into(), ..testkit::Storm::default() }.report();
}

#[test]
fn soak_a_run_of_as_many_tasks_as_are_allowed_can_be_submitted_and_read() {
    let cli = writ();
    // The soak asks for as many as are allowed.
    let tasks = testkit::rounds(1_500) as usize;
    // A rule refuses the run after it was submitted and planned, so that no process is started for it.
    cli.scratch().write("project/.writ/config.toml", "[policy]\ndeny_shell = true\n");
    let made = |number: usize| match number {
        0 => json!({"id": "t0", "command": "true", "shell": true}),
        _ => {
            json!({"id": format!("t{number}"), "command": ["true"], "depends_on": [format!("t{}", number / 2)]})
        }
    };
    let answer = submit(&cli, (0..tasks).map(made).collect());
    let left_out = tasks - contract::domain::limits::RUN_TASKS_LISTED_MAX;
    assert_eq!((&answer["success"], &answer["data"]["tasks_left_out"]), (&json!(false), &json!(left_out)));
    let listed = cli.run(["runs", "list", "--output", "json"]).success().json();
    let run = listed["data"]["runs"][0]["id"].as_str().unwrap().to_owned();
    is_readable(&cli, &run, tasks);
    let rounds = tasks as u64;
    testkit::Storm { rounds, operations: rounds, ..testkit::Storm::default() }.report();
}
