//! AOP sessions: TASKs that belong together, who delegates to whom, and what is reported at the end.

use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::aop_tasks::response;
use crate::documents::{agent, aop, plan, shell, with, writ};
use crate::read_back::{Worked, work};

/// A TASK of the session with this id, whose program does these steps.
fn task(cli: &Cli, id: &str, pattern: &str, script: &str) -> Value {
    let mut task = aop(cli, script);
    task["session"]["workflow_pattern"] = json!(pattern);
    task["task"]["task_id"] = json!(id);
    task
}

/// The same, which may delegate and has this parent.
fn level(cli: &Cli, id: &str, parent: Option<&str>) -> Value {
    let mut task = task(cli, id, "HIERARCHICAL", "aop-success");
    task["task"]["parent_task_id"] = json!(parent);
    task["task"]["constraints"] = json!({"delegation_allowed": true});
    task
}

/// The AOP code and the first path of a refusal.
fn refused(cli: &Cli, document: &Value) -> (String, String) {
    let output = cli.call(["run", "-", "--output", "json"]).stdin(document.to_string()).run();
    output.fails_with(1);
    let context = output.json()["error_context"].clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (word(&context["aop_code"]), word(&context["findings"][0]["path"]))
}

fn session(cli: &Cli, words: &[&str]) -> Value {
    cli.run(["session"].iter().chain(words).chain(&["--output", "json"])).success().json()["data"].clone()
}

#[test]
fn several_files_of_one_session_are_one_run() {
    let cli = writ();
    for (name, script) in [("a", "write order.txt a; aop-success"), ("b", "aop-success")] {
        cli.scratch().write(format!("project/{name}.json"), task(&cli, name, "CHAIN", script).to_string());
    }
    let output = cli.run(["run", "a.json", "b.json", "--output", "json"]);
    let done = Worked::of(&cli, output).succeeded();
    assert_eq!((done.status("a").as_str(), done.status("b").as_str()), ("done claimed", "done claimed"));
    assert_eq!(done.result["session_id"], "S-1");
    let b = done.shown("b");
    assert_eq!(b["depends_on"], json!([done.task_id("a")]));
    let listed = session(&cli, &["list"]);
    assert_eq!((&listed["count"], &listed["sessions"][0]["session_id"]), (&json!(1), &json!("S-1")));
}

#[test]
fn a_task_after_a_failed_one_is_skipped_with_its_code() {
    let cli = writ();
    let tasks = json!([task(&cli, "a", "CHAIN", "exit 3"), task(&cli, "b", "CHAIN", "aop-success")]);
    let failed = work(&cli, &tasks).failed();
    assert_eq!(failed.reason("b"), "E_DEPENDENCY_FAILED: dependency `a` is failed");
    let report = session(&cli, &["report", "S-1"]);
    assert_eq!(report["session_status"], json!({"state": "FAILED", "final_signal": "FAILURE"}));
    let of = |index: usize| {
        (report["tasks"][index]["state"].clone(), report["tasks"][index]["error_code"].clone())
    };
    assert_eq!(of(0), (json!("FAILED"), json!("E_PROCESS_CRASH")));
    assert_eq!(of(1), (json!("SKIPPED"), json!("E_DEPENDENCY_FAILED")));
}

#[test]
fn a_session_ends_with_a_report_of_its_tasks_graph_and_costs() {
    let cli = writ();
    let cost = json!({"cost_tracking": {"actual_cost_usd": 0.25, "tokens_input": 10, "tokens_output": 5}});
    let answer = response(with(cost, json!({"task_id": "boss"})));
    let script =
        cli.scratch().write("script", format!("print {}\n", answer.to_string().replace('\\', r"\\")));
    let mut boss = level(&cli, "boss", None);
    boss["task"]["extensions"]["x_command"] = json!([agent(), "--file", script]);
    boss["target"]["role"] = json!("ORCHESTRATOR");
    let worked = work(&cli, &json!([boss, level(&cli, "child", Some("boss"))])).succeeded();
    let events = worked.trace().into_iter().map(|envelope| envelope["payload"]["event"].clone());
    let reports: Vec<Value> = events.filter(|event| event["event"] == "SESSION_FINAL_REPORT").collect();
    assert_eq!(reports.len(), 1);
    let report = &reports[0];
    assert_eq!((&report["session_id"], &report["task_id"]), (&json!("S-1"), &Value::Null));
    assert_eq!(report["session_status"], json!({"state": "COMPLETED", "final_signal": "SUCCESS"}));
    assert_eq!((&report["totals"]["total_tasks"], &report["totals"]["completed"]), (&json!(2), &json!(2)));
    assert_eq!(report["cost_summary"]["actual_cost_usd"], 0.25);
    assert_eq!(report["cost_summary"]["by_agent"], json!({"emma": 0.25}));
    assert_eq!(report["cost_summary"]["by_provider"], json!({"OTHER": 0.25}));
    assert_eq!(report["totals"]["role_assignments"][0]["role"], "ORCHESTRATOR");
    let trail = session(&cli, &["audit", "S-1"]);
    let path = "_skills/agent-orchestration-protocol_d/v2/audit_trails/";
    assert_eq!(report["audit_trail"], json!({"storage_path": path, "record_count": trail["count"]}));
    let graph = &report["delegation_graph"];
    assert_eq!(graph["nodes"][1]["depth"], 2);
    let edges = json!([
        {"from": "boss", "to": "child", "type": "DELEGATION"},
        {"from": "boss", "to": "child", "type": "DEPENDENCY"},
    ]);
    assert_eq!((&graph["edges"], &graph["max_depth"]), (&edges, &json!(3)));
    assert_eq!(session(&cli, &["show", "S-1"])["delegation_graph"], *graph);
    let printed = cli.run(["session", "report", "S-1"]).success().stdout.clone();
    assert!(printed.contains("SUCCESS: 2 of 2 TASKs completed"), "{printed}");
}

#[test]
fn a_parent_of_an_earlier_run_is_found_by_its_session() {
    let cli = writ();
    let at = "$.task.parent_task_id".to_owned();
    let child = level(&cli, "child", Some("boss"));
    assert_eq!(refused(&cli, &child), ("E_DEPENDENCY_FAILED".to_owned(), at.clone()));
    work(&cli, &level(&cli, "boss", None)).succeeded();
    work(&cli, &child).succeeded();
    work(&cli, &level(&cli, "grandchild", Some("child"))).succeeded();
    let fourth = level(&cli, "fourth", Some("grandchild"));
    assert_eq!(refused(&cli, &fourth), ("E_MAX_DEPTH_EXCEEDED".to_owned(), at.clone()));
    let mut silent = level(&cli, "silent", None);
    silent["task"]["constraints"] = json!({});
    work(&cli, &silent).succeeded();
    let denied = level(&cli, "denied", Some("silent"));
    assert_eq!(refused(&cli, &denied), ("E_PERMISSION_DENIED".to_owned(), at.clone()));
    let mut broken = level(&cli, "broken", None);
    broken["task"]["extensions"]["x_command"] = json!(["false"]);
    work(&cli, &broken).failed();
    assert_eq!(refused(&cli, &level(&cli, "late", Some("broken"))), ("E_DEPENDENCY_FAILED".to_owned(), at));
}

#[test]
fn a_task_starts_runs_only_if_it_may_delegate() {
    let cli = writ();
    let inner = with(shell("inner", "touch made"), json!({"writes": ["made"]}));
    cli.scratch().write("project/inner.json", plan([inner]).to_string());
    let line = format!(
        "{} run inner.json --output json > nested.json; exec \"$0\" aop-success",
        env!("CARGO_BIN_EXE_writ")
    );
    let mut outer = aop(&cli, "");
    outer["task"]["extensions"] = json!({"x_command": ["sh", "-c", line, agent()]});
    work(&cli, &outer).succeeded();
    let nested: Value = serde_json::from_str(&cli.scratch().read("project/nested.json")).unwrap();
    assert_eq!(nested["error_context"]["aop_code"], "E_PERMISSION_DENIED", "{nested}");
    assert!(!cli.project().join("made").exists());
    outer["task"]["constraints"] = json!({"delegation_allowed": true});
    let done = work(&cli, &outer).succeeded();
    let nested: Value = serde_json::from_str(&cli.scratch().read("project/nested.json")).unwrap();
    assert_eq!(nested["data"]["state"], "done", "{nested}");
    assert_eq!(nested["data"]["corr"], done.result["corr"]);
}

#[test]
fn a_session_that_nobody_submitted_is_not_found() {
    let cli = writ();
    work(&cli, &aop(&cli, "aop-success")).succeeded();
    let output = cli.run(["session", "show", "S-9", "--output", "json"]);
    assert_eq!(output.fails_with(1).json()["error_code"], "NOT_FOUND");
}

/// A TASK of the session whose program makes a file and never ends.
fn waiting(cli: &Cli, id: &str) -> Value {
    let line = format!("cat > /dev/null; touch {id}-runs; while :; do sleep 0.05; done");
    let mut task = aop(cli, "");
    task["task"]["task_id"] = json!(id);
    task["task"]["extensions"] = json!({"x_command": ["sh", "-c", line], "x_sandbox": "off"});
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": [id]}});
    task
}

#[test]
fn a_failed_task_aborts_the_other_runs_of_its_session_and_its_session_takes_no_more() {
    let cli = writ();
    let other = cli.call(["run", "-", "--output", "json"]).stdin(waiting(&cli, "long").to_string()).spawn();
    eventually("the other run works", || cli.project().join("long-runs").exists());
    let mut bad = task(&cli, "bad", "SINGLE", "exit 3");
    bad["execution_policy"] = json!({"on_failure": "ABORT_SESSION"});
    bad["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["bad"]}});
    work(&cli, &bad).failed();
    let ended = Worked::of(&cli, other.wait());
    assert_eq!(
        (ended.result["state"].as_str(), ended.status("long").as_str()),
        (Some("canceled"), "canceled")
    );
    let reason = "E_DEPENDENCY_FAILED: aborted: `bad` failed, and its on_failure is ABORT_SESSION";
    assert_eq!((ended.reason("long"), &ended.task("long")["code"]), (reason, &json!("E_DEPENDENCY_FAILED")));
    let report = session(&cli, &["report", "S-1"]);
    let states: Vec<&Value> = report["tasks"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["ABORTED", "FAILED"]);
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let late = task(&cli, "late", "SINGLE", "aop-success");
    let output = cli.call(["run", "-", "--output", "json"]).stdin(late.to_string()).run();
    output.fails_with(1);
    let answer = output.json();
    assert_eq!(answer["error_code"], "WRONG_STATE", "{answer}");
    assert_eq!(answer["error_context"]["aop_code"], "E_DEPENDENCY_FAILED", "{answer}");
    let other =
        with(late.clone(), json!({"session": with(late["session"].clone(), json!({"session_id": "S-2"}))}));
    work(&cli, &other).succeeded();
    let reopened = cli.call(["run", "-", "--reopen", "--output", "json"]).stdin(late.to_string()).run();
    Worked::of(&cli, reopened).succeeded();
}

/// Runs a task that delegates a run that never ends; gives the outer run while both work.
fn delegating(cli: &Cli, more: Value) -> testkit::Background<'_> {
    let inner = with(
        shell("inner", "touch src/inner-runs; while :; do sleep 0.05; done"),
        json!({"writes": ["src"]}),
    );
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    cli.scratch().write("project/inner.json", plan([inner]).to_string());
    let line = format!("{} run inner.json", env!("CARGO_BIN_EXE_writ"));
    let outer = with(with(shell("outer", &line), json!({"writes": ["src"]})), more);
    cli.scratch().write("project/outer.json", plan([outer]).to_string());
    let running = cli.spawn(["run", "outer.json", "--output", "json"]);
    let is_there = cli.project().join("src/inner-runs");
    eventually("the delegated task runs", || is_there.exists());
    running
}

/// The state of the delegated run, and why its task was canceled.
fn delegated(cli: &Cli) -> (String, String) {
    let listed = cli.run(["runs", "list", "--output", "json"]).success().json();
    let runs = listed["data"]["runs"].as_array().unwrap().clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = runs.iter().map(|run| {
        cli.run(["runs", "show", &word(&run["id"]), "--output", "json"]).success().json()["data"].clone()
    });
    let inner = all.into_iter().find(|run| run["tasks"][0]["name"] == "inner").unwrap();
    (word(&inner["state"]), word(&inner["tasks"][0]["reason"]))
}

#[test]
fn canceling_a_run_or_a_task_ends_what_it_delegated() {
    for what in ["run", "outer"] {
        for sandbox in ["prefer", "off"] {
            let cli = writ();
            let running = delegating(&cli, json!({"sandbox": sandbox}));
            let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
            let outer =
                runs["data"]["runs"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
            let name = if what == "run" { outer.clone() } else { format!("{outer}/outer") };
            cli.run(["cancel", &name, "--reason", "enough"]).success();
            assert_ne!(running.wait().json()["success"], true);
            let (state, reason) = delegated(&cli);
            assert_eq!(state, "canceled", "{what} {sandbox}: {reason}");
            assert!(reason.contains("that started it was canceled"), "{what} {sandbox}: {reason}");
            assert_eq!(cli.leftovers(), Vec::<u32>::new());
        }
    }
}

#[test]
fn a_task_that_times_out_or_fails_takes_what_it_delegated_with_it() {
    let cli = writ();
    let running = delegating(&cli, json!({"timeout": "1s"}));
    running.wait().fails_with(1);
    let (state, reason) = delegated(&cli);
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("canceled", "the task `outer` that started it ran into its timeout")
    );
    let cli = writ();
    let line = format!(
        "{} run inner.json & until [ -e src/inner-runs ]; do sleep 0.05; done; exit 3",
        env!("CARGO_BIN_EXE_writ")
    );
    let running = delegating(&cli, json!({"command": line}));
    running.wait().fails_with(1);
    let (state, reason) = delegated(&cli);
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("canceled", "the task `outer` that started it failed with E_PROCESS_CRASH")
    );
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}
