//! The messages that the scripted agent prints.

use serde_json::{Value, json};
use testkit::{Cli, Output, fake_agent};

fn task() -> Value {
    json!({
        "aop_version": "2.0.2-C",
        "schema_version": "2.0.2",
        "protocol_family": "AOP",
        "message_type": "TASK",
        "session": {
            "session_id": "S-1",
            "created_at": "2026-01-01T12:00:00Z",
            "orchestrator": "writ",
            "origin": "CLI",
        },
        "target": {"agent_name": "fake", "role": "EXECUTOR", "provider": "LOCAL", "model": "script"},
        "task": {
            "task_id": "T-1",
            "objective": "nothing",
            "category": "OTHER",
            "complexity": "LOW",
            "environment": {"workspace_root": "."},
        },
    })
}

fn run(script: &str) -> Output {
    Cli::new(fake_agent()).call([script]).stdin(task().to_string()).run()
}

/// Kind, task and outcome of each message, one line each.
fn said(script: &str) -> Vec<String> {
    let outline = |message: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let status = &message["task_status"];
        let kind = if message["event"].is_null() { &message["message_type"] } else { &message["event"] };
        [kind, &message["task_id"], &status["state"], &status["final_signal"]].map(text).join(" ")
    };
    run(script).success().json_lines().iter().map(outline).collect()
}

#[test]
fn events_and_a_response_carry_the_identity_of_the_task() {
    assert_eq!(
        said("aop-read; aop-heartbeat; aop-progress 40 half way; aop-success"),
        ["HEARTBEAT T-1 - -", "PROGRESS_UPDATE T-1 - -", "RESPONSE T-1 COMPLETED SUCCESS"]
    );
    let lines = run("aop-progress 40 half way; aop-success").json_lines();
    assert_eq!(lines[0]["progress"], json!({"percentage": 40, "message": "half way"}));
    assert_eq!(lines[1]["agent"], json!({"name": "fake", "provider": "LOCAL", "model": "script"}));
    assert!(lines.iter().all(|line| line["session_id"] == "S-1" && line["aop_version"] == "2.0.2-C"));
}

#[test]
fn a_response_can_end_in_every_way() {
    assert_eq!(said("aop-failed E_TIMEOUT"), ["RESPONSE T-1 FAILED FAILURE"]);
    assert_eq!(said("aop-partial"), ["RESPONSE T-1 COMPLETED PARTIAL_SUCCESS"]);
    assert_eq!(said("aop-wrong-task"), ["RESPONSE TASK-OF-SOMEBODY-ELSE COMPLETED SUCCESS"]);
    assert_eq!(said("aop-no-final-signal"), ["RESPONSE T-1 COMPLETED -"]);
    assert_eq!(said("aop-two-responses"), ["RESPONSE T-1 COMPLETED SUCCESS", "RESPONSE T-1 FAILED FAILURE"]);
    let failed = run("aop-failed E_TIMEOUT").json();
    assert_eq!(failed["error_details"]["error_code"], "E_TIMEOUT");
}

#[test]
fn a_response_names_cost_and_files() {
    let response =
        run("write a.txt one; append a.txt two; aop-cost 0.25; aop-success").json_lines().remove(0);
    assert_eq!(response["cost_tracking"]["actual_cost_usd"], 0.25);
    let files = &response["execution_summary"]["output_artifacts"];
    assert_eq!(*files, json!([{"type": "FILE", "path": "a.txt", "status": "CREATED", "size_bytes": 8}]));
    assert!(run("aop-success").json()["cost_tracking"].is_null());
}

#[test]
fn good_messages_pass_the_contract_and_bad_ones_do_not() {
    let good = "aop-heartbeat; aop-progress 40 half way; write a.txt one; aop-cost 0.25; aop-success; aop-partial; \
                aop-failed E_TIMEOUT; aop-wrong-task; aop-two-responses";
    for line in run(good).success().stdout.lines() {
        let verdict = contract::aop::validate(line.as_bytes(), true);
        assert!(verdict.allow, "{verdict:?}\n{line}");
    }
    for bad in ["aop-bad-json", "aop-no-final-signal", "aop-garbage"] {
        for line in run(bad).success().stdout.lines() {
            let verdict = contract::aop::validate(line.as_bytes(), false);
            assert!(!verdict.allow, "{verdict:?}\n{line}");
        }
    }
    assert!(contract::aop::validate(task().to_string().as_bytes(), true).allow);
}

#[test]
fn what_is_broken_is_really_broken() {
    let half = run("aop-bad-json");
    assert!(half.stdout.starts_with('{') && serde_json::from_str::<Value>(&half.stdout).is_err());
    let noise = run("aop-garbage; aop-success");
    let is_message = |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
    let messages: Vec<&str> = noise.success().stdout.lines().filter(is_message).collect();
    assert_eq!((messages.len(), noise.stdout.lines().count()), (1, 7));
}

#[test]
fn an_orphan_goes_on_with_the_same_task() {
    let cli = Cli::new(fake_agent());
    let agent = cli.call(["aop-heartbeat; setsid; aop-success"]).stdin(task().to_string()).spawn();
    testkit::eventually("the orphan answers", || agent.stdout().lines().count() == 2);
    let output = agent.wait();
    assert_eq!(output.json_lines()[1]["task_id"], "T-1");
}

#[test]
fn without_a_task_it_says_so() {
    let cli = Cli::new(fake_agent());
    let output = cli.run(["aop-success"]);
    output.fails_with(64);
    assert_eq!(output.stderr, "fake-agent: standard input is empty, and a TASK was expected\n");
    cli.call(["aop-read"]).stdin("{\"message_type\": \"EVENT\"}").run().fails_with(64);
}
