//! The crew's verbs.

use serde_json::json;
use testkit::Cli;

use super::{Example, Row};
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
command = ["grep", "-q", "hello", "src/a/a.txt"]
"#;

/// The run of a ledger whose first task is given out, and its packet.
fn issued(cli: &Cli) -> (String, serde_json::Value) {
    let run = opened(cli, PLAN);
    let words = ["assignment", "issue", "--run", &run, "--task", "T-1", "--owner", "w"];
    let packet = cli.run(words).success().json()["data"]["packet"].clone();
    (run, packet)
}

pub(super) const ROWS: &[Row] = &[Row {
    verb: "result.submit",
    prepare: |cli| {
        let (run, packet) = issued(cli);
        cli.scratch().write("project/src/a/a.txt", "hello");
        let criterion = &packet["task"]["acceptance_criteria"][0];
        let document = json!({
            "schema_version": "1.0.0", "run_id": run, "task_id": "T-1", "status": "done",
            "changes": [{"resource": "src/a/a.txt", "action": "create"}],
            "acceptance_check": [{"criterion": criterion, "status": "pass", "evidence": "looked at it"}],
            "worklog_path": packet["task"]["worklog_path"], "notes_for_orchestrator": [],
            "x_fencing_token": packet["x_fencing_token"],
        });
        let stdin = document.to_string();
        let request = json!({"document": document, "tokens": 7});
        Example::new(request, &["result", "submit", "-", "--tokens", "7"]).stdin(stdin)
    },
}];
