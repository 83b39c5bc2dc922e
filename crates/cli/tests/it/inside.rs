//! writ called from inside a sandbox: what a task's program can read, report and start, and what it cannot.

use serde_json::Value;
use testkit::{Cli, Output};

use crate::run_view::write_plan;
use crate::sandbox::has_sandbox;

const WRIT: &str = env!("CARGO_BIN_EXE_writ");

/// Runs a plan of one task `a`, which may write to `src`, and whose script calls writ as `@W`.
fn run(cli: &Cli, head: &str, task: &str, script: &str) -> Output {
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let script = script.replace("@W", WRIT).replace('\\', "\\\\").replace('"', "\\\"");
    let plan = format!(
        "objective = \"Try it\"\nworkspace = \".\"\nsandbox = \"enforce\"\n{head}\n[[task]]\nid = \"a\"\nshell = true\n\
         writes = [\"src\"]\n{task}\ncommand = \"{script}\"\n"
    );
    write_plan(cli, &plan);
    cli.call(["run", "plan.toml", "--output", "json"]).run()
}

fn only_task(output: &Output) -> Value {
    output.json()["data"]["tasks"][0].clone()
}

/// What a file in the task's scope has.
fn written(cli: &Cli, name: &str) -> Value {
    let text = std::fs::read_to_string(cli.project().join("src").join(name)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_program_in_a_sandbox_reads_its_brief_and_reports_on_its_own_task() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let script = "@W resume > src/brief && @W task get --id a > src/task && \
                  @W push --json '{\"event\": {\"kind\": \"note\", \"message\": \"half done\"}}' > src/push && \
                  @W heartbeat --run $WRIT_RUN --task $WRIT_TASK > src/beat && \
                  @W task complete --id $WRIT_TASK --outcome done --summary 'all of it' > src/complete";
    let task = only_task(&run(&cli, "", "", script));
    assert_eq!(task["status"], "done", "{task} {}", cli.run(["logs", "a"]));
    let id = written(&cli, "task")["data"]["id"].clone();
    assert_eq!(written(&cli, "brief")["data"]["focus_task_id"], id);
    assert!(written(&cli, "push")["data"]["event_id"].is_i64());
    assert_eq!(written(&cli, "beat")["data"]["task_id"], "T-1");
    // The run decides, once the program has ended.
    assert_eq!(written(&cli, "complete")["data"]["task"]["status"], "in_progress");
    let events = cli
        .run(["events", "list", "--all", "--task-id", id.as_str().unwrap(), "--output", "json"])
        .success()
        .json();
    let events = events["data"]["events"].as_array().unwrap().clone();
    let said = |kind: &str| events.iter().find(|event| event["kind"] == kind).cloned().unwrap_or_default();
    assert_eq!(
        (&said("note")["message"], &said("note")["agent_name"]),
        (&"half done".into(), &id),
        "{events:?}"
    );
    assert_eq!(said("task_reported")["message"], "Reported as done: all of it", "{events:?}");
}

#[test]
fn a_program_in_a_sandbox_needs_no_names_for_itself_and_is_told_what_never_works() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let script = "@W task get > src/task && @W heartbeat > src/beat && \
                  for way in status 'runs list' 'config show' 'cancel a' 'rollback a'; do \
                  @W $way --output json > \"src/${way%% *}\" && exit 1; done; true";
    let task = only_task(&run(&cli, "", "", script));
    assert_eq!(task["status"], "done", "{task} {}", cli.run(["logs", "a"]));
    assert_eq!(written(&cli, "task")["data"]["title"], "a");
    assert_eq!(written(&cli, "beat")["data"]["task_id"], "T-1");
    for name in ["status", "runs", "config", "cancel", "rollback"] {
        let refused = written(&cli, name);
        assert_eq!(
            (&refused["error_code"], &refused["retry"]),
            (&"DENIED".into(), &"never".into()),
            "{refused}"
        );
    }
    let said = written(&cli, "runs")["error"].clone();
    assert!(said.as_str().unwrap().contains("`writ runs list` is not open"), "{said}");
}

#[test]
fn a_task_that_reports_itself_as_blocked_is_not_done() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let script = "@W task complete --id a --outcome blocked --summary 'needs a key'";
    let task = only_task(&run(&cli, "", "", script));
    assert_eq!(task["status"], "failed", "{task}");
    assert!(task["reason"].as_str().unwrap().contains("reported as blocked: needs a key"), "{task}");
}

#[test]
fn a_program_cannot_pass_its_checks_and_then_change_what_they_saw() {
    let cli = Cli::writ();
    for sandbox in ["enforce", "off"] {
        if sandbox == "enforce" && !has_sandbox(&cli) {
            continue;
        }
        let script = "echo good > src/x; @W task complete --id $WRIT_TASK --outcome done --summary s; \
                      @W task set-status --id $WRIT_TASK --status completed --request-id 1; echo bad > src/x";
        let checks =
            format!("sandbox = \"{sandbox}\"\nchecks = [{{ command = [\"grep\", \"good\", \"src/x\"] }}]");
        std::fs::create_dir_all(cli.project().join("src")).unwrap();
        let script = script.replace("@W", WRIT);
        let plan = format!(
            "objective = \"Try it\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\nshell = true\nwrites = [\"src\"]\n\
             command = \"{script}\"\n{checks}\n"
        );
        write_plan(&cli, &plan);
        let task = only_task(&cli.call(["run", "plan.toml", "--output", "json"]).run());
        assert_eq!(task["status"], "failed", "{sandbox}: {task}");
    }
}

#[test]
fn nothing_of_other_tasks_and_no_other_command_is_open_from_inside() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let words = ["task", "create", "--title", "another", "--agent", "ann", "--request-id", "r"];
    let other = cli.run(words).success().json()["data"]["task"]["id"].as_str().unwrap().to_owned();
    let refused = [
        format!("@W task get --id {other}"),
        format!("@W task complete --id {other} --outcome done --summary s"),
        format!(
            "@W push --json '{{\"task_id\": \"{other}\", \"event\": {{\"kind\": \"note\", \"message\": \"m\"}}}}'"
        ),
        "@W push --json '{\"memories\": [{\"key\": \"k\", \"value\": \"v\", \"scope\": \"global\"}]}'"
            .to_owned(),
        "@W task list".to_owned(),
        "@W task create --title x".to_owned(),
        "@W memory list".to_owned(),
        "@W lock list".to_owned(),
        "@W status".to_owned(),
        "@W approval grant x".to_owned(),
        "@W runs list".to_owned(),
        "@W audit verify".to_owned(),
        // The principal is the task's, whatever a program calls itself.
        format!("WRIT_TASK={other} @W task get --id {other}"),
    ];
    for (number, way) in refused.iter().enumerate() {
        let task = only_task(&run(&cli, "", "", &format!("{way} > src/out{number} 2>&1")));
        assert_eq!(task["status"], "failed", "{way}: {task}");
        let said = std::fs::read_to_string(cli.project().join(format!("src/out{number}"))).unwrap();
        assert!(said.contains("sandbox"), "{way}: {said}");
        assert!(!said.contains("another"), "{way}: {said}");
    }
}

#[test]
fn the_same_request_id_from_inside_writes_once() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let push = "@W push --agent x --request-id same --json '{\"event\": {\"kind\": \"note\", \"message\": \"once\"}}'";
    let task = only_task(&run(&cli, "", "", &format!("{push} > src/a && {push} > src/b")));
    assert_eq!(task["status"], "done", "{task}");
    assert_eq!(written(&cli, "a")["data"]["event_id"], written(&cli, "b")["data"]["event_id"]);
}

/// A plan for a run that task `a` starts. Its tasks' commands run in the workspace.
fn write_inner(cli: &Cli, tasks: &str) {
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let workspace = cli.project().canonicalize().unwrap();
    let plan = format!("objective = \"Inner\"\nworkspace = \"{}\"\n{tasks}", workspace.display());
    std::fs::write(cli.project().join("src/inner.toml"), plan).unwrap();
}

#[test]
fn a_run_started_from_inside_is_worked_outside_within_what_its_starter_may_do() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let task = |id: &str, more: &str, script: &str| {
        format!("[[task]]\nid = \"{id}\"\nshell = true\n{more}\ncommand = \"{script}\"\n")
    };
    let tasks = task("x", "writes = [\"src/deep\"]", "mkdir -p src/deep && echo x > src/deep/x")
        + &task("y", "sandbox = \"off\"", "echo y > outside");
    write_inner(&cli, &tasks);
    let outer = only_task(&run(&cli, "", "network = \"none\"", "@W run src/inner.toml > src/answer; true"));
    assert_eq!(outer["status"], "done", "{outer}");
    let answer = written(&cli, "answer");
    let inner = answer["data"]["tasks"].as_array().unwrap().clone();
    // Who names no run means the one that somebody started.
    let last = cli.run(["runs", "show", "@last", "--output", "json"]).success().json();
    assert_eq!(last["data"]["objective"], "Try it", "{last}");
    let listed = cli.run(["runs", "list", "--output", "text"]).success().stdout.clone();
    assert!(
        listed.contains(&format!("Inner  (started by {})", last["data"]["id"].as_str().unwrap())),
        "{listed}"
    );
    assert_eq!(
        (&inner[0]["status"], &inner[1]["code"]),
        (&"done".into(), &"E_PERMISSION_DENIED".into()),
        "{answer}"
    );
    let trace = cli.run(["trace", answer["data"]["run_id"].as_str().unwrap(), "--output", "json"]);
    assert!(trace.stdout.contains("\"sandbox.network\":\"on\""), "{trace}");
    assert!(cli.project().join("src/deep/x").exists() && !cli.project().join("outside").exists());
    let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
    let runs = runs["data"]["runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!(runs[0]["corr"], runs[1]["corr"], "{runs:?}");
}

#[test]
fn a_run_from_inside_that_asks_for_more_than_its_starter_has_is_refused() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let task = |more: &str| format!("[[task]]\nid = \"x\"\ncommand = [\"true\"]\n{more}\n");
    let outside = cli.project().parent().unwrap().canonicalize().unwrap();
    let cases = [
        (task("writes = [\".\"]"), "may not write `.` itself"),
        (task("writes = [\"src/x\"]\nscratch = [\"target\"]"), "may not write `target` itself"),
        (task("namespace = \"off\""), "namespace"),
        (task("isolation = \"worktree\""), "clone"),
    ];
    for (tasks, expected) in cases {
        write_inner(&cli, &tasks);
        let outer = only_task(&run(&cli, "", "", "@W run src/inner.toml > src/answer"));
        assert_eq!(outer["status"], "failed", "{outer}");
        let answer = std::fs::read_to_string(cli.project().join("src/answer")).unwrap();
        assert!(answer.contains(expected) && answer.contains("DENIED"), "{expected}: {answer}");
    }
    let outside = outside.display();
    let elsewhere = format!("objective = \"Inner\"\nworkspace = \"{outside}\"\n{}", task(""));
    std::fs::write(cli.project().join("src/inner.toml"), elsewhere).unwrap();
    let outer = only_task(&run(&cli, "", "", "@W run src/inner.toml > src/answer"));
    assert_eq!(outer["status"], "failed", "{outer}");
    let answer = std::fs::read_to_string(cli.project().join("src/answer")).unwrap();
    assert!(answer.contains("is outside the workspace of the calling task"), "{answer}");
}

#[test]
fn runs_from_inside_end_with_their_starter_and_are_not_nested_too_deep() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    write_inner(&cli, "[[task]]\nid = \"x\"\ncommand = [\"sleep\", \"600\"]\n");
    // The starter goes away while its run works; the run is stopped, and can be continued.
    let gone = "@W run src/inner.toml > src/answer 2>&1 & while ! test -s src/begun; do \
                @W task get --id a > src/begun; done; sleep 1";
    let outer = only_task(&run(&cli, "", "", gone));
    assert_eq!(outer["status"], "done", "{outer}");
    let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
    let states: Vec<&Value> =
        runs["data"]["runs"].as_array().unwrap().iter().map(|run| &run["state"]).collect();
    assert!(states.iter().all(|state| *state == "stopped" || *state == "done"), "{runs}");
    let script = format!("{WRIT} run src/inner.toml");
    write_inner(
        &cli,
        &format!("[[task]]\nid = \"x\"\nshell = true\nwrites = [\"src\"]\ncommand = \"{script}\"\n"),
    );
    let outer = run(&cli, "", "", "@W run src/inner.toml > src/answer");
    assert_eq!(only_task(&outer)["status"], "failed", "{outer}");
    let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
    let reasons = runs.to_string();
    assert!(
        reasons.contains("E_MAX_DEPTH_EXCEEDED") || runs["data"]["runs"].as_array().unwrap().len() <= 6,
        "{reasons}"
    );
}

#[test]
fn a_session_in_a_sandbox_is_told_about_its_task_by_its_hooks() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let script = "echo '{}' | @W hook session-start > src/told && test -s src/told";
    let task = only_task(&run(&cli, "", "title = \"Write the parser\"", script));
    assert_eq!(task["status"], "done", "{task} {}", cli.run(["logs", "a"]));
    let told = std::fs::read_to_string(cli.project().join("src/told")).unwrap();
    assert!(told.contains("Write the parser"), "{told}");
}
