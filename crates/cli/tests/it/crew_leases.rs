//! The lease of a worker whose result is being checked.

use std::time::Instant;

use contract::domain::time::Timestamp;
use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::documents::opened;

/// The shortest timeout that the contract allows, in seconds.
const TIMEOUT: i64 = 30;
/// What is left of both leases when the result is sent, in seconds.
const LEASE_LEFT: i64 = 8;

const PLAN: &str = r#"
objective = "Write two files"
workspace = "."

[[task]]
id = "a"
title = "Write a"
command = ["true"]
writes = ["src/a"]
[[task.checks]]
command = ["sh", "-c", "touch src/a/checking; until [ -e go ]; do sleep 0.05; done"]

[[task]]
id = "b"
title = "Write b"
command = ["true"]
writes = ["src/b"]
[[task.checks]]
command = ["true"]
"#;

/// Assigns both tasks, and imports the run into a new store as if their workers had been silent since: nobody wants to
/// wait for a whole lease.
fn nearly_expired() -> (Cli, String, Value) {
    let from = Cli::writ();
    let run = opened(&from, PLAN);
    let timeout = TIMEOUT.to_string();
    let issue = |task: &str| {
        let words = ["assignment", "issue", "--run", &run, "--task", task, "--owner", "w"];
        from.run(words.iter().copied().chain(["--timeout", &timeout, "--heartbeat", "5"])).success().json()
    };
    let packet = issue("T-1")["data"]["packet"].clone();
    issue("T-2");
    let mut bundle = from.run(["handoff", "export", &run]).success().json();
    for row in bundle["ledger"].as_array_mut().unwrap() {
        let heard = Timestamp::parse(row["last_heartbeat_at"].as_str().unwrap()).unwrap();
        let silence = (TIMEOUT - LEASE_LEFT) * 1000;
        let earlier = json!(Timestamp::from_millis(heard.millis() - silence));
        row["x_row"]["last_heartbeat_at"] = earlier.clone();
        row["last_heartbeat_at"] = earlier;
    }
    let cli = Cli::writ();
    cli.call(["handoff", "import"]).stdin(bundle.to_string()).run().success();
    (cli, run, packet)
}

#[test]
fn a_result_whose_checks_take_longer_than_the_lease_is_accepted_and_blocks_no_other_writer() {
    let (cli, run, packet) = nearly_expired();
    // A check writes only to what is there.
    std::fs::create_dir_all(cli.project().join("src/a")).unwrap();
    let started = Instant::now();
    let document = json!({
        "schema_version": "1.0.0", "run_id": run, "task_id": "T-1", "status": "done", "changes": [],
        "acceptance_check": [{
            "criterion": packet["task"]["acceptance_criteria"][0], "status": "pass", "evidence": "seen",
        }],
        "worklog_path": packet["task"]["worklog_path"], "notes_for_orchestrator": [],
        "x_token": packet["x_token"],
    });
    let mut submitted = cli.call(["result", "submit"]).stdin(document.to_string()).spawn();
    eventually("the check runs", || cli.project().join("src/a/checking").exists());

    // Another process writes while the check runs, and does not wait for it.
    cli.run(["--agent", "ann", "--request-id", "1", "task", "create", "--title", "meanwhile"]).success();
    assert!(submitted.is_running());

    // The worker that sent nothing times out; the one whose result is checked does not.
    eventually("the leases would have ended", || started.elapsed().as_secs() > LEASE_LEFT.unsigned_abs());
    let mut swept = Vec::new();
    eventually("the other worker times out", || {
        let answer = cli.run(["watchdog", "sweep"]).success().json();
        swept.extend(
            answer["data"]["timed_out"].as_array().unwrap().iter().map(|task| task["task_id"].clone()),
        );
        !swept.is_empty()
    });
    assert_eq!(swept, ["T-2"]);
    assert!(submitted.is_running());

    cli.scratch().write(cli.project().join("go"), "");
    let done = submitted.wait().success().json()["data"].clone();
    assert_eq!((&done["status"], &done["evidence"]), (&json!("done"), &json!("verified")));
    cli.run(["audit", "verify", "--replay"]).success();
}
