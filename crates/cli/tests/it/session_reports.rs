//! The final report of a session says the same as the answers of its runs, and what was really spent.

use serde_json::{Value, json};
use testkit::Cli;

use crate::aop_tasks::{answered, response};
use crate::documents::{agent, aop, with, writ};
use crate::read_back::{Worked, work};

fn report(cli: &Cli) -> Value {
    cli.run(["session", "report", "S-1", "--output", "json"]).success().json()["data"].clone()
}

/// The code of a task in the answer of its run, which the report has, too.
#[track_caller]
fn code(cli: &Cli, worked: &Worked<'_>, name: &str) -> Value {
    let report = report(cli);
    let told = report["tasks"].as_array().unwrap().iter().find(|task| task["task_id"] == name).unwrap();
    let code = worked.task(name)["code"].clone();
    assert_eq!(told["error_code"], code, "{}: {told}", worked.reason(name));
    code
}

/// How the TASK ended by the report, which the graph and `session show` say too: its state, its signal, and the session's.
#[track_caller]
fn ended(cli: &Cli) -> [String; 3] {
    let report = report(cli);
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let task = &report["tasks"][0];
    let node = &report["delegation_graph"]["nodes"][0];
    assert_eq!((&node["state"], &node["final_signal"]), (&task["state"], &task["final_signal"]));
    let shown = cli.run(["session", "show", "S-1", "--output", "json"]).success().json();
    assert_eq!(shown["data"]["final_signal"], report["session_status"]["final_signal"]);
    assert_eq!(shown["data"]["tasks"], report["tasks"]);
    [&task["state"], &task["final_signal"], &report["session_status"]["final_signal"]].map(word)
}

fn with_work(mut document: Value, fields: Value) -> Value {
    document["task"] = with(document["task"].take(), fields);
    document
}

#[test]
fn the_code_of_a_task_is_the_one_it_was_given_up_with() {
    let other = json!({"provider": "OTHER", "model": "m-2", "fallback_trigger": "ALL_ERRORS"});
    let again = json!({"max_retries": 3, "retry_backoff_seconds": [0]});
    let cases = [
        ("E_ALL_MODELS_EXHAUSTED", "aop-failed E_UNKNOWN", json!({"alternative_models": [other]}), json!({})),
        (
            "E_COST_LIMIT_EXCEEDED",
            "aop-cost 0.3; aop-failed E_UNKNOWN",
            again.clone(),
            json!({"budgets": {"max_cost_usd": 0.5}}),
        ),
        ("E_COST_LIMIT_EXCEEDED", "aop-failed E_UNKNOWN", again, json!({"budgets": {"max_cost_usd": 0.5}})),
        (
            "E_FILE_NOT_FOUND",
            "aop-success",
            json!({}),
            json!({"inputs": [{"type": "FILE", "path": "missing.txt"}]}),
        ),
        (
            "E_FILE_NOT_FOUND",
            "aop-success",
            json!({}),
            json!({"environment": {"workspace_root": "/nowhere/at/all"}}),
        ),
        (
            "E_MODEL_UNAVAILABLE",
            "aop-failed E_MODEL_UNAVAILABLE",
            json!({"abort_on_first_critical_error": true}),
            json!({}),
        ),
    ];
    for (expected, script, policy, fields) in cases {
        let cli = writ();
        let task = with(aop(&cli, script), json!({"execution_policy": policy}));
        let worked = work(&cli, &with_work(task, fields)).failed();
        assert_eq!(code(&cli, &worked, "T-1"), expected, "{}", worked.output);
    }
}

#[test]
fn a_task_that_its_session_takes_with_it_has_the_code_of_a_failed_dependency() {
    let cli = writ();
    let task = |id: &str, script: &str, policy: Value| {
        let mut task = with(aop(&cli, script), json!({"execution_policy": policy}));
        task["session"]["workflow_pattern"] = json!("CHAIN");
        task["task"]["task_id"] = json!(id);
        task
    };
    let bad = task("bad", "aop-failed E_UNKNOWN", json!({"on_failure": "ABORT_SESSION"}));
    let worked = work(&cli, &json!([bad, task("next", "aop-success", json!({}))])).failed();
    assert_eq!(code(&cli, &worked, "bad"), "E_UNKNOWN");
    assert_eq!(code(&cli, &worked, "next"), "E_DEPENDENCY_FAILED", "{}", worked.output);
    assert_eq!(report(&cli)["tasks"][1]["state"], "SKIPPED");
}

#[test]
fn a_partial_success_and_an_abort_are_in_the_report() {
    let partial = json!({"task_status": {"state": "COMPLETED", "final_signal": "PARTIAL_SUCCESS"}});
    let cli = writ();
    work(&cli, &answered(&cli, &[response(partial)])).succeeded();
    assert_eq!(ended(&cli), ["COMPLETED", "PARTIAL_SUCCESS", "PARTIAL_SUCCESS"]);
    let shown = cli.run(["session", "show", "S-1", "--output", "text"]).success().stdout.clone();
    assert!(shown.ends_with("T-1  PARTIAL_SUCCESS  emma\n"), "{shown}");
    for (strategy, expected) in [
        ("CONTINUE", ["COMPLETED", "PARTIAL_SUCCESS", "PARTIAL_SUCCESS"]),
        ("ABORT", ["ABORTED", "ABORTED", "FAILURE"]),
    ] {
        let cli = writ();
        let check = json!({"command": "false", "expects": "EXIT_CODE_0"});
        let point = json!({
            "checkpoint_id": "C-1", "description": "d", "validation": check, "recovery_strategy": strategy,
        });
        let phase = json!({
            "phase_id": "P-1", "phase_order": 1, "label": "l", "objective": "o", "checkpoints": [point],
        });
        let worked = work(&cli, &with(aop(&cli, "aop-success"), json!({"phases": [phase]})));
        assert_eq!(worked.task("T-1")["final_signal"], expected[1], "{}", worked.output);
        assert_eq!(ended(&cli), expected);
    }
}

/// A TASK whose program reports this cost if the model is `none`, and otherwise succeeds at the other.
fn costing(cli: &Cli, first: &Value, then: &Value) -> Value {
    let failed = json!({
        "task_status": {"state": "FAILED", "final_signal": "FAILURE", "message": "no"},
        "error_details": {"error_code": "E_UNKNOWN", "message": "no"},
    });
    let answers = [
        ("first", with(response(failed), json!({"cost_tracking": first}))),
        ("then", response(json!({"cost_tracking": then}))),
    ];
    for (name, answer) in answers {
        cli.scratch().write(format!("project/{name}.answer"), format!("{answer}\n"));
    }
    let line = "if grep -q '\"model\": *\"none\"'; then cat first.answer; else cat then.answer; fi";
    let mut task = aop(cli, "");
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", line]);
    let other = json!({"provider": "GEMINI", "model": "m-2", "fallback_trigger": "ALL_ERRORS"});
    with(task, json!({"execution_policy": {"alternative_models": [other]}}))
}

#[test]
fn costs_belong_to_the_models_that_ran_and_are_exact_sums_over_all_runs() {
    let cli = writ();
    let config = "[executor.gemini]\nkind = \"aop-stdio\"\ncommand = [\"cat\", \"then.answer\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", config);
    let first =
        json!({"estimated_cost_usd": 0.05, "actual_cost_usd": 0.1, "tokens_input": 7, "tokens_output": 2});
    let then = json!({"actual_cost_usd": 0.2, "tokens_input": 5, "tokens_output": 1});
    let task = with_work(costing(&cli, &first, &then), json!({"budgets": {"max_cost_usd": 5}}));
    work(&cli, &task).succeeded();
    let once = report(&cli);
    let expected = json!({
        "estimated_cost_usd": 0.05, "actual_cost_usd": 0.3, "tokens_input": 12, "tokens_output": 3,
        "by_provider": {"OTHER": 0.1, "GEMINI": 0.2}, "by_agent": {"emma": 0.3},
    });
    assert_eq!(once["cost_summary"], expected);
    assert_eq!(once["totals"]["total_cost_usd"], 0.3);
    assert_eq!(once["totals"]["role_assignments"][0]["model"], "m-2");
    let node = &once["delegation_graph"]["nodes"][0];
    assert_eq!((&node["provider"], &node["model"]), (&json!("GEMINI"), &json!("m-2")));
    // The same TASK again in the same session.
    work(&cli, &task).succeeded();
    let twice = report(&cli);
    assert_eq!(twice["cost_summary"]["actual_cost_usd"], 0.6, "{twice}");
    let printed = cli.run(["session", "report", "S-1", "--output", "text"]).success().stdout.clone();
    assert!(printed.ends_with("cost $0.60\n"), "{printed}");
    assert_eq!(twice["cost_summary"]["by_provider"], json!({"OTHER": 0.2, "GEMINI": 0.4}));
    let task = &twice["tasks"][0];
    assert_eq!((&task["actual_cost_usd"], &task["attempts"]), (&json!(0.6), &json!(4)));
}

#[test]
fn what_nobody_said_about_costs_is_not_in_the_report() {
    let cli = writ();
    work(&cli, &with_work(aop(&cli, "aop-success"), json!({"budgets": {"max_cost_usd": 5}}))).succeeded();
    let report = report(&cli);
    assert_eq!(report["cost_summary"], json!({}));
    assert_eq!(report["totals"].get("total_cost_usd"), None, "{report}");
    let trail = cli.run(["session", "audit", "S-1", "--output", "json"]).success().json();
    let records = trail["data"]["records"].as_array().unwrap().iter().map(|one| &one["record"]);
    let received: Vec<&Value> = records.filter(|one| one["record_type"] == "RESPONSE_RECEIVED").collect();
    assert_eq!(received.len(), 1, "{trail}");
    assert_eq!(received[0]["governance"].get("budget_status"), None, "{received:?}");
}

#[test]
fn a_task_whose_run_was_started_by_another_is_its_child_in_the_graph() {
    let cli = writ();
    let mut child = aop(&cli, "aop-success");
    child["task"]["task_id"] = json!("inner");
    cli.scratch().write("project/child.json", child.to_string());
    let line = format!("{} run child.json > nested; exec \"$0\" aop-success", env!("CARGO_BIN_EXE_writ"));
    let fields = json!({
        "extensions": {"x_command": ["sh", "-c", line, agent()], "x_sandbox": "off"},
        "constraints": {"delegation_allowed": true},
    });
    work(&cli, &with_work(aop(&cli, ""), fields)).succeeded();
    let graph = report(&cli)["delegation_graph"].clone();
    let inner = graph["nodes"].as_array().unwrap().iter().find(|node| node["task_id"] == "inner").unwrap();
    assert_eq!((&inner["parent_task_id"], &inner["depth"]), (&json!("T-1"), &json!(2)), "{graph}");
    assert_eq!(graph["edges"], json!([{"from": "T-1", "to": "inner", "type": "DELEGATION"}]));
}
