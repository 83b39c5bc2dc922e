//! Names of tasks and runs on the command line, and the project a command acts on.

use serde_json::Value;
use testkit::Cli;

/// The second task fails until `fixed` exists.
const PLAN: &str = r#"
objective = "Names"
workspace = "."
[[task]]
id = "build"
title = "Build"
command = ["sh", "-c", "echo built"]
[[task]]
id = "tests"
title = "Tests"
depends_on = ["build"]
command = ["sh", "-c", "echo testing; test -e fixed"]
[[task]]
id = "docs"
title = "Docs"
depends_on = ["tests"]
command = ["true"]
"#;

fn writ() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

fn failed_run(cli: &Cli) -> Value {
    std::fs::write(cli.project().join("plan.toml"), PLAN).unwrap();
    let output = cli.run(["run", "plan.toml", "--output", "json"]);
    output.fails_with(1);
    output.json()["data"].clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn every_verb_takes_the_id_that_the_plan_gives_a_task() {
    let cli = writ();
    let run = failed_run(&cli);
    let tests = text(&run["tasks"][1]["id"]);
    for name in ["tests", "T-2", &tests, &tests[..20], "@last/tests"] {
        let task = cli.run(["task", "get", "--id", name]).json()["data"]["id"].clone();
        assert_eq!(task, tests.as_str(), "{name}");
        let logs = cli.run(["logs", name]);
        assert_eq!(logs.success().stdout, "testing\n", "{name}");
        let events = cli.run(["events", "list", "--all", "--task-id", name]).json();
        assert!(events["data"]["count"].as_i64().unwrap() > 0, "{name}");
        assert_eq!(events["data"]["task_id"], tests.as_str());
        let artifacts = cli.run(["artifacts", "list", "--task-id", name]).json();
        assert_eq!(artifacts["data"]["task_id"], tests.as_str());
        let note = format!(r#"{{"task_id": "{name}", "event": {{"kind": "note", "message": "m"}}}}"#);
        cli.run(["push", "--json", &note]).success();
        let memory = ["--scope", "task", "--scope-id", name, "--key", "k"];
        let set = cli.run(["memory", "set", "--value", "v"].iter().chain(&memory));
        assert_eq!(set.json()["data"]["scope_id"], tests.as_str());
        let get = cli.run(["memory", "get"].iter().chain(&memory));
        assert_eq!(get.json()["data"]["value"], "v");
    }
    let begun = cli.run(["task", "begin", "--id", "docs"]).json();
    assert_eq!(begun["data"]["task"]["id"], run["tasks"][2]["id"]);
}

#[test]
fn the_newest_run_is_meant_where_none_is_named() {
    let cli = writ();
    let run = text(&failed_run(&cli)["run_id"]);
    for line in [&["runs", "show"][..], &["runs", "show", "@last"], &["trace"], &["trace", "@last"]] {
        let output = cli.run(line);
        assert!(output.success().stdout.starts_with(&run), "{line:?}: {}", output.stdout);
    }
    let all = "==> build (attempt 1) <==\nbuilt\n==> tests (attempt 1) <==\ntesting\n";
    for line in [&["logs"][..], &["logs", "@last"], &["logs", &run]] {
        assert_eq!(cli.run(line).success().stdout, all, "{line:?}");
    }
    let json = cli.run(["logs", "--output", "json"]).json();
    assert_eq!(json["data"]["tasks"][1]["name"], "tests");

    cli.run(["retry", "--no-run"]).success();
    std::fs::write(cli.project().join("fixed"), "").unwrap();
    let done = cli.run(["run", "--continue"]);
    assert!(done.success().stdout.contains("run done: 3 of 3"), "{}", done.stdout);
    // Nothing is left to retry.
    let refused = cli.run(["retry", "--output", "json"]);
    refused.fails_with(1);
    assert_eq!(refused.json()["error_code"], "WRONG_STATE");
}

#[test]
fn a_whole_run_is_retried_and_a_task_is_named_by_its_plan() {
    let cli = writ();
    let run = text(&failed_run(&cli)["run_id"]);
    std::fs::write(cli.project().join("fixed"), "").unwrap();
    let retried = cli.run(["retry", "tests"]);
    assert!(retried.success().stdout.contains("run done"), "{}", retried.stdout);
    let canceled = cli.run(["cancel", "tests", "--output", "json"]);
    canceled.fails_with(1);
    assert_eq!(canceled.json()["error_code"], "WRONG_STATE", "{canceled}");
    let unknown = cli.run(["cancel", "nothing", "--output", "json"]);
    unknown.fails_with(1);
    assert_eq!(unknown.json()["error_code"], "NOT_FOUND");
    assert!(cli.run(["runs", "show", &run]).success().stdout.contains("tests  done"));
}

#[test]
fn names_of_several_or_no_things_are_refused_with_candidates() {
    let cli = writ();
    failed_run(&cli);
    let unknown = cli.run(["logs", "misc", "--output", "json"]);
    unknown.fails_with(1);
    let answer = unknown.json();
    assert_eq!(
        (&answer["error"], &answer["error_code"]),
        (&"task not found: misc".into(), &"NOT_FOUND".into())
    );
    assert_eq!(answer["error_context"]["candidates"], serde_json::json!(["build", "docs", "tests"]));
    let several = cli.run(["logs", "task_", "--output", "json"]);
    several.fails_with(1);
    assert_eq!(several.json()["error_code"], "AMBIGUOUS");
    let raw = cli.run(["logs", "--raw"]);
    raw.fails_with(2);
    assert!(raw.stderr.contains("--raw needs a task"), "{}", raw.stderr);
    let none = writ();
    let refused = none.run(["runs", "show"]);
    refused.fails_with(1);
    assert!(refused.stderr.contains("there is no run yet"), "{}", refused.stderr);
}

#[test]
fn under_the_agent_contracts_name_only_whole_ids_are_names() {
    let cli = writ();
    let run = failed_run(&cli);
    let whole = text(&run["tasks"][1]["id"]);
    for name in ["tests", "T-2", &whole[..20], "nothing"] {
        let output = cli.call(["task", "get", "--id", name]).named("vybe").run();
        output.fails_with(1);
        assert_eq!(output.json()["error"], format!("failed to get task: task not found: {name}"));
    }
    cli.call(["task", "get", "--id", &whole]).named("vybe").run().success();
}

#[test]
fn the_crews_verbs_take_the_plans_ids_too() {
    let cli = writ();
    std::fs::write(cli.project().join("plan.toml"), PLAN).unwrap();
    cli.run(["ledger", "open", "plan.toml"]).success();
    for task in ["build", "T-1", "bui"] {
        let shown = cli.run(["worklog", "show", "--run", "@last", "--task", task]);
        assert_eq!(shown.success().json()["data"]["task_id"], "T-1");
    }
    cli.run(["ledger", "show", "@last"]).success();
    let refused = cli.run(["worklog", "show", "--run", "@last", "--task", "nothing"]);
    refused.fails_with(1);
    assert_eq!(refused.json()["error_code"], "SCHEMA_INVALID");
}

#[test]
fn a_command_acts_on_the_project_it_was_called_in() {
    let cli = writ();
    let (root, sub) = (cli.project(), cli.project().join("src/deep"));
    std::fs::create_dir_all(&sub).unwrap();
    let project = |output: &testkit::Output| output.json()["data"]["task"]["project_id"].clone();
    let outside = cli.run(["task", "create", "--title", "outside"]);
    assert_eq!(project(&outside), Value::Null);
    std::fs::create_dir(root.join(".git")).unwrap();
    let here = root.to_string_lossy().into_owned();
    let inside = cli.call(["task", "create", "--title", "inside"]).in_dir(&sub).run();
    assert_eq!(project(&inside), here.as_str());
    let none = cli.call(["task", "create", "--title", "none", "--no-project"]).in_dir(&sub).run();
    assert_eq!(project(&none), Value::Null);
    let listed = |args: &[&str]| -> Vec<String> {
        let answer = cli.call(args).in_dir(&sub).run().json();
        answer["data"]["tasks"].as_array().into_iter().flatten().map(|task| text(&task["title"])).collect()
    };
    assert_eq!(listed(&["task", "list"]), ["inside"]);
    assert_eq!(listed(&["task", "list", "--all-projects"]).len(), 3);
    assert_eq!(listed(&["ready"]), ["inside"]);
    assert_eq!(listed(&["ready", "--all-projects"]).len(), 3);
    let resumed = cli.call(["resume"]).in_dir(&sub).run().json();
    assert_eq!(resumed["data"]["focus_project_id"], here.as_str());
    let id = inside.json()["data"]["task"]["id"].clone();
    assert_eq!(resumed["data"]["focus_task_id"], id);
    let kept = cli.call(["memory", "set", "-k", "k", "-v", "v", "--scope", "project"]).in_dir(&sub).run();
    assert_eq!(kept.json()["data"]["scope_id"], here.as_str());
    // A directory with `.writ` in it is a project of its own.
    std::fs::create_dir(sub.join(".writ")).unwrap();
    assert_eq!(listed(&["task", "list"]), Vec::<String>::new());
    let empty = cli.call(["task", "list", "--output", "text"]).in_dir(&sub).run();
    assert!(empty.stdout.contains("--all-projects"), "{}", empty.stdout);
    // The agent contract's own name has no such default.
    let args = ["task", "create", "--agent", "a", "--request-id", "r", "--title", "v"];
    let vybe = cli.call(args).named("vybe").in_dir(&root).run();
    assert_eq!(project(&vybe), Value::Null);
}

#[test]
fn a_run_of_another_place_is_meant_only_by_its_id() {
    let cli = writ();
    let run = text(&failed_run(&cli)["run_id"]);
    let other = cli.scratch().dir("other");
    for words in [
        &["cancel", "@last"][..],
        &["cancel", "tests"],
        &["retry"],
        &["retry", "tests"],
        &["run", "--continue"],
        &["runs", "show"],
        &["logs"],
        &["logs", "tests"],
        &["trace"],
    ] {
        let refused = cli.call(words).in_dir(&other).run();
        refused.fails_with(1);
        assert!(refused.stderr.contains(&run), "{words:?} names the run: {refused}");
    }
    cli.call(["runs", "show", &run]).in_dir(&other).run().success();
    let named = format!("{run}/tests");
    assert_eq!(cli.call(["logs", &named]).in_dir(&other).run().success().stdout, "testing\n");
}

#[test]
fn an_ended_run_is_not_continued_and_an_open_ledger_is_not_interrupted() {
    let cli = writ();
    let run = text(&failed_run(&cli)["run_id"]);
    let again = cli.run(["run", "--continue"]);
    again.fails_with(1);
    let said = format!("nothing to continue: run {run} has failed; `writ retry {run}`");
    assert!(again.stderr.contains(&said), "{again}");
    cli.run(["ledger", "open", "plan.toml"]).success();
    let status = cli.run(["status", "--output", "text"]);
    assert!(!status.success().stdout.contains("interrupted"), "{status}");
    for task in ["tests", "@last/tests"] {
        let words = ["worker", "run", "--run", "@last", "--owner", "w", "--task", task, "--", "true"];
        // The task is known, and cannot be given out because it declares no writes.
        let refused = cli.run(words);
        assert!(refused.fails_with(1).stdout.contains("$.task.lock_scope"), "{refused}");
    }
    let unknown = cli.run(["assignment", "issue", "--run", "@last", "--task", "T-9"]).fails_with(1).json();
    assert_eq!(unknown["error_code"], "NOT_FOUND");
    assert!(text(&unknown["suggested_action"]).contains("T-1, T-2, T-3"), "{unknown}");
}
