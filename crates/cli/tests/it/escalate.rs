//! `writ escalate`: a task becomes more urgent while its run is worked.

use serde_json::{Value, json};
use testkit::{Background, Cli, eventually};

use crate::aop_tasks::{answered, response};
use crate::documents::{agent, aop, opened, shell, with, writ};
use crate::read_back::{decisions, trace, work};
use crate::run_view::{RunView, audit_is_clean, file, run_id};

/// Waits until the test writes `go`.
const HOLD: &str = "touch begun; until [ -e go ]; do sleep 0.02; done";

/// Starts a run of this document, and returns when its first task has begun.
fn working<'c>(cli: &'c Cli, document: &Value) -> (Background<'c>, String) {
    cli.scratch().write("project/document.json", document.to_string());
    let writ = cli.spawn(["run", "document.json"]);
    eventually("the first task has begun", || cli.scratch().has("project/begun"));
    let run = run_id(&writ);
    (writ, run)
}

fn go(cli: &Cli) {
    cli.scratch().write("project/go", "");
}

#[track_caller]
fn escalate(cli: &Cli, words: &[&str]) -> Value {
    cli.run([&["escalate"], words, &["--output", "json"]].concat()).success().json()["data"].clone()
}

/// A TASK whose first attempt waits and fails; each attempt keeps the TASK that it got.
fn failing_once(cli: &Cli, policy: Value) -> Value {
    let line = format!(
        "n=$(ls | grep -c '^told'); cat > told-$n.json; {HOLD}; \
         if [ $n = 0 ]; then exec \"$0\" 'aop-failed E_UNKNOWN' < told-0.json; fi; exec \"$0\" aop-success < told-$n.json"
    );
    let mut task = with(aop(cli, ""), json!({"execution_policy": policy}));
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", line, agent()]);
    task
}

/// What the executor of the attempt with this number, counted from 0, was told.
fn told(cli: &Cli, number: usize, path: &str) -> Value {
    let text = cli.scratch().read(format!("project/told-{number}.json"));
    serde_json::from_str::<Value>(&text).unwrap().pointer(path).cloned().unwrap_or_default()
}

fn models(cli: &Cli, run: &str) -> Vec<Value> {
    let shown = cli.run(["runs", "show", run, "--output", "json"]).success().json();
    let attempts = shown["data"]["tasks"][0]["attempts"].as_array().unwrap().clone();
    attempts.into_iter().map(|attempt| attempt["model"].clone()).collect()
}

#[test]
fn a_waiting_task_overtakes_others_in_a_running_engine() {
    let cli = writ();
    let next = |name: &str| shell(name, &format!("echo {name} >> order.txt"));
    let document = json!({"objective": "o", "max_parallel": 1, "task": [
        shell("a", &format!("{HOLD}; echo a >> order.txt")), next("b"), next("c"), next("d"),
    ]});
    let (writ, run) = working(&cli, &document);
    let waiting = escalate(&cli, &["d"]);
    assert_eq!((&waiting["old_priority"], &waiting["new_priority"]), (&json!("normal"), &json!("critical")));
    assert_eq!(waiting["counts_from"], "now");
    assert_eq!(escalate(&cli, &["c", "--to", "high"])["counts_from"], "now");
    let running = cli.run(["escalate", "a", "--reason", "look at it"]);
    let expected = "a is critical, was normal\n\
                    the running attempt is not affected; the new priority applies to the next attempt\n\
                    shell uses no model\n";
    assert_eq!(running.success().stdout, expected);
    go(&cli);
    writ.wait().success();
    assert_eq!(file(&cli, "order.txt"), "a\nd\nc\nb\n");
    assert_eq!(RunView::of(&cli, &run).task("a").attempts.len(), 1, "what ran was not interrupted");
    let text = cli.run(["trace", &run]).success().stdout.clone();
    assert!(text.contains("PRIORITY_ESCALATION"), "{text}");
    assert!(text.contains("normal to critical by human."), "{text}");
    audit_is_clean(&cli);
}

#[test]
fn the_event_is_the_one_of_the_contract() {
    let cli = writ();
    let mut task = aop(&cli, "");
    task["task"]["extensions"]["x_command"] =
        json!(["sh", "-c", format!("{HOLD}; exec \"$0\" aop-success"), agent()]);
    task["task"]["priority"] = json!("LOW");
    let (writ, run) = working(&cli, &task);
    escalate(&cli, &["T-1", "--to", "HIGH", "--reason", "User manually escalated via CLI"]);
    go(&cli);
    writ.wait().success();
    let trace = trace(&cli, &run);
    let said = trace.iter().find(|event| event["intent"] == "writ.priority_escalation").unwrap();
    let event = &said["payload"]["event"];
    let expected = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "EVENT",
        "event": "PRIORITY_ESCALATION", "session_id": "S-1", "task_id": "T-1",
        "timestamp": event["timestamp"], "old_priority": "LOW", "new_priority": "HIGH",
        "reason": "User manually escalated via CLI", "escalated_by": said["from"],
    });
    assert_eq!(*event, expected);
    cli.call(["validate", "aop", "-"]).stdin(event.to_string()).run().success();
    audit_is_clean(&cli);
}

#[test]
fn the_next_attempt_uses_the_model_that_is_configured_for_its_priority() {
    let cli = writ();
    let config = "[executor.emma]\ncommand = [\"emma\"]\n[escalation.high]\naop-stdio = \"better\"\n\
                  [escalation.critical]\nemma = \"best\"\n";
    cli.scratch().write("home/.config/writ/config.toml", config);
    let policy = json!({"max_retries": 1, "retry_backoff_seconds": []});
    let budget = json!({"max_cost_usd": 7.5});
    let mut task = failing_once(&cli, policy);
    task["task"]["budgets"] = budget.clone();
    task["task"]["extensions"]["x_command"][2] = json!(
        task["task"]["extensions"]["x_command"][2]
            .as_str()
            .unwrap()
            .replace("'aop-failed", "'aop-cost 0.1; aop-failed")
    );
    let (writ, run) = working(&cli, &task);
    let answer = escalate(&cli, &["T-1", "--to", "high"]);
    assert_eq!(answer["model"]["upgraded_to"], "better");
    let answer = escalate(&cli, &["T-1"]);
    assert_eq!(answer["counts_from"], "next_attempt");
    assert_eq!(answer["model"]["told"], "the next attempt uses best with aop-stdio");
    go(&cli);
    let output = writ.wait();
    assert!(output.success().stderr.contains("T-1: uses best with aop-stdio instead of none"), "{output}");
    assert_eq!(models(&cli, &run), ["none", "best"]);
    let trail = cli.run(["session", "audit", "S-1", "--output", "json"]).success().json();
    let trail = trail["data"]["records"].as_array().unwrap().iter().map(|it| &it["record"]);
    let sent = trail.filter(|record| record["record_type"] == "TASK_DISPATCHED").map(|it| &it["payload"]);
    let sent: Vec<Value> = sent.cloned().collect();
    assert_eq!(sent, [told(&cli, 0, ""), told(&cli, 1, "")], "the audit trail has what was sent");
    assert!(sent[1]["task"]["inputs"][0]["content"].as_str().unwrap().contains("attempt 1 failed"));
    for (number, model, priority) in [(0, "none", Value::Null), (1, "best", json!("CRITICAL"))] {
        assert_eq!(told(&cli, number, "/target/model"), model);
        assert_eq!(told(&cli, number, "/task/priority"), priority);
        assert_eq!(told(&cli, number, "/task/budgets"), budget, "budgets stay");
    }
    let decided = decisions(&trace(&cli, &run), "L6");
    let expected = "ESCALATED: best with aop-stdio instead of none, because its priority is critical";
    assert!(decided.iter().any(|decision| decision == expected), "{decided:?}");
    audit_is_clean(&cli);
}

#[test]
fn without_configuration_the_model_stays_and_the_answer_says_so() {
    let cli = writ();
    let policy = json!({"max_retries": 1, "retry_backoff_seconds": []});
    let (writ, run) = working(&cli, &failing_once(&cli, policy));
    let answer = escalate(&cli, &["T-1"]);
    let expected = "the model stays, because none is configured for aop-stdio under [escalation.critical]";
    assert_eq!(answer["model"], json!({"executor": "aop-stdio", "upgraded_to": null, "told": expected}));
    go(&cli);
    writ.wait().success();
    assert_eq!(models(&cli, &run), ["none", "none"]);
    assert_eq!(told(&cli, 1, "/task/priority"), "CRITICAL", "the executor is told all the same");
}

#[test]
fn an_alternative_keeps_its_model_although_the_task_is_escalated() {
    let cli = writ();
    cli.scratch().write("home/.config/writ/config.toml", "[escalation.critical]\naop-stdio = \"best\"\n");
    let other = json!({"provider": "OTHER", "model": "m-2", "fallback_trigger": "ALL_ERRORS"});
    let (writ, run) = working(&cli, &failing_once(&cli, json!({"alternative_models": [other]})));
    escalate(&cli, &["T-1"]);
    go(&cli);
    writ.wait().success();
    assert_eq!(models(&cli, &run), ["none", "m-2"]);
    assert_eq!(told(&cli, 1, "/target/model"), "m-2");
}

#[test]
fn an_escalation_that_an_executor_sends_has_no_effect_and_is_named() {
    let cli = writ();
    let event = json!({
        "aop_version": "2.0.2-C", "message_type": "EVENT", "event": "PRIORITY_ESCALATION", "session_id": "S-1",
        "task_id": "T-1", "timestamp": "2026-01-01T12:00:00Z", "old_priority": "NORMAL",
        "new_priority": "CRITICAL", "reason": "I want it", "escalated_by": "emma",
    });
    let worked = work(&cli, &answered(&cli, &[event.clone(), event, response(json!({}))])).succeeded();
    let text =
        "the executor sent PRIORITY_ESCALATION: a task cannot change its own priority; `writ escalate` does";
    let told = format!("WITHOUT_EFFECT: {text}");
    let decided = worked.decisions("L7");
    assert_eq!(decided.iter().filter(|decision| **decision == told).count(), 1, "{decided:?}");
    let shown = worked.shown("T-1");
    let warning = json!({"code": "WITHOUT_EFFECT", "text": text});
    assert_eq!(shown["attempts"][0]["outcome"]["warnings"], json!([warning]), "{shown}");
    assert!(worked.output.stderr.contains("the executor sent PRIORITY_ESCALATION"), "{}", worked.output);
    assert!(!worked.trace().iter().any(|event| event["intent"] == "writ.priority_escalation"));
    let task = cli.run(["task", "get", "--id", &worked.task_id("T-1")]).success().json();
    assert_eq!(task["data"]["priority"], 0, "{task}");
}

#[test]
fn a_program_of_the_run_cannot_escalate() {
    let cli = writ();
    let line = format!("{} escalate a --output json > said.json; true", env!("CARGO_BIN_EXE_writ"));
    let task = with(shell("a", &line), json!({"sandbox": "off"}));
    work(&cli, &json!({"objective": "o", "task": [task]})).succeeded();
    let said: Value = serde_json::from_str(&file(&cli, "said.json")).unwrap();
    assert_eq!(said["error_code"], "DENIED", "{said}");
}

#[test]
fn what_cannot_be_escalated_is_refused_and_what_changes_nothing_is_said() {
    let cli = writ();
    let worked = work(&cli, &json!({"objective": "o", "task": [shell("a", "true")]})).succeeded();
    let refused = cli.run(["escalate", "a", "--output", "json"]).fails_with(1).json();
    assert_eq!(
        (&refused["error_code"], &refused["error"]),
        (&json!("WRONG_STATE"), &json!("the task is done already"))
    );
    let created = cli.run(["task", "create", "--title", "alone", "--output", "json"]).success().json();
    let alone = created["data"]["task"]["id"].as_str().unwrap();
    let refused = cli.run(["escalate", alone, "--output", "json"]).fails_with(1).json();
    assert!(refused["suggested_action"].as_str().unwrap().contains("writ task set-priority"), "{refused}");
    cli.run(["escalate", "nobody"]).fails_with(1);
    cli.run(["escalate", "a", "--to", "urgently"]).fails_with(2);
    opened(&cli, "objective = \"o\"\n[[task]]\nid = \"row\"\ncommand = \"true\"\nshell = true\n");
    let refused = cli.run(["escalate", "row", "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error"], "the task is a row of a crew's ledger");
    // A failed task that is ready again.
    let failed = work(&cli, &json!({"objective": "o", "task": [shell("f", "exit 1")]})).failed();
    cli.run(["retry", "f", "--no-run"]).success();
    let same = escalate(&cli, &["f", "--to", "normal"]);
    assert_eq!(same["warnings"], json!(["the priority is normal already; nothing changed"]));
    let lower = escalate(&cli, &[&format!("{}/f", failed.id()), "--to", "low"]);
    assert_eq!(
        lower["warnings"],
        json!(["low is lower than normal; the task now waits for more urgent ones"])
    );
    assert_eq!(lower["counts_from"], "continued");
    assert_ne!(worked.id(), failed.id());
    audit_is_clean(&cli);
}

#[test]
fn only_the_user_configures_models_of_escalated_tasks_and_only_where_they_count() {
    let cli = writ();
    let config = |text: &str| cli.scratch().write("home/.config/writ/config.toml", text);
    config("[escalation.critical]\naop-stdio = \"best\"\n");
    let shown = cli.run(["config", "show"]).success().stdout.clone();
    assert!(shown.contains("escalation.critical.aop-stdio"), "{shown}");
    for (text, path) in [
        ("[escalation.critical]\nnobody = \"m\"\n", "$.escalation.critical.nobody"),
        ("[escalation.critical]\nshell = \"m\"\n", "$.escalation.critical.shell"),
        ("[escalation.low]\naop-stdio = \"m\"\n", "$.escalation.low"),
    ] {
        config(text);
        let refused = cli.run(["config", "show"]);
        assert!(refused.fails_with(1).stderr.contains(path), "{refused}");
    }
    config("");
    cli.scratch().write("project/.writ/config.toml", "[escalation.critical]\naop-stdio = \"best\"\n");
    let refused = cli.run(["config", "show"]);
    assert!(
        refused.fails_with(1).stderr.contains("$.escalation: belongs in the user's configuration"),
        "{refused}"
    );
}
