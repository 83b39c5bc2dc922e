//! A worklog through the real binary: the file follows the store, also after a crash, and a changed one is told.

use std::fs;

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::opened;

const PLAN: &str = r#"
objective = "Write a file"
workspace = "."

[[task]]
id = "a"
title = "Write a"
command = ["true"]
writes = ["src/a"]
[[task.checks]]
command = "src/a/a.txt"
expects = "FILE_EXISTS"
"#;

fn entry(action: &str) -> Value {
    json!({"action": action, "files_touched": [], "decision": "d", "result": "r", "next_step": "n"})
}

fn append(cli: &Cli, run: &str, token: &str, id: &str, action: &str) -> Value {
    let words = ["worklog", "append", "--run", run, "--task", "T-1", "--token", token, "--request-id", id];
    cli.call(words).stdin(entry(action).to_string()).run().success().json()["data"].clone()
}

#[test]
fn the_file_is_brought_up_to_the_store_and_a_changed_one_is_set_aside() {
    let cli = Cli::writ();
    let run = opened(&cli, PLAN);
    let verify = || cli.run(["worklog", "verify", "--run", &run, "--task", "T-1"]);
    assert_eq!(verify().success().json()["allow"], true);
    let issued = cli.run(["assignment", "issue", "--run", &run, "--task", "T-1"]).success().json();
    let token = issued["data"]["token"].as_str().unwrap().to_owned();
    let first = append(&cli, &run, &token, "1", "begun");
    append(&cli, &run, &token, "2", "wrote");
    let path = cli.project().join("worklogs/T-1.jsonl");
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!(verify().success().json()["details"]["entry_count"], 2);
    // As a crash between the store and the file leaves it: the same call again finishes it.
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    assert_eq!(verify().fails_with(1).json()["details"]["rule"], "file_behind");
    assert_eq!(append(&cli, &run, &token, "1", "begun"), first);
    assert_eq!(fs::read(&path).unwrap(), whole);
    fs::write(&path, String::from_utf8(whole.clone()).unwrap().replace("begun", "began")).unwrap();
    assert_eq!(verify().fails_with(1).json()["details"]["rule"], "not_append_only");
    let third = append(&cli, &run, &token, "3", "again");
    let aside = fs::read_to_string(path.with_file_name(third["x_set_aside"].as_str().unwrap())).unwrap();
    assert!(aside.contains("began"));
    assert!(fs::read(&path).unwrap().starts_with(&whole));
    assert_eq!(verify().success().json()["details"]["entry_count"], 3);
    let shown = cli.run(["worklog", "show", "--run", &run, "--task", "T-1"]).success().json();
    assert_eq!(shown["data"]["entries"][1]["action"], "wrote");
    let unknown = cli.run(["worklog", "verify", "--run", &run, "--task", "T-9"]);
    assert_eq!(unknown.fails_with(2).json()["code"], "MISSING_VALIDATOR");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn two_runs_in_one_workspace_have_worklogs_of_their_own() {
    let cli = Cli::writ();
    let runs = [opened(&cli, PLAN), opened(&cli, PLAN)];
    for run in &runs {
        let words = ["worklog", "append", "--run", run, "--task", "T-1", "--request-id", run];
        cli.call(words).stdin(entry("begun").to_string()).run().success();
    }
    for run in &runs {
        let verified = cli.run(["worklog", "verify", "--run", run, "--task", "T-1"]).success().json();
        assert_eq!(verified["details"]["entry_count"], 1);
    }
}
