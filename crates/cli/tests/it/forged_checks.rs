//! The completer of a task may have any environment: its checks run in the author's, whatever verb runs them.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Call, Cli, Output, eventually};

use crate::documents::{opened, writ};
use crate::run_view::RunView;

/// Variables that make some program load, run or believe something else.
const FORGED: &[&str] = &[
    "BASH_ENV",
    "CARGO_BUILD_RUSTC",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CDPATH",
    "CLASSPATH",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_WORK_TREE",
    "GOFLAGS",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LD_LIBRARY_PATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTEST_ADDOPTS",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "WRIT_AGENT",
];

#[track_caller]
fn data(output: &Output) -> Value {
    output.success().json()["data"].clone()
}

/// A runner whose caller has a `grep` and a home of their own.
fn lab() -> Cli {
    let cli = writ();
    for program in ["grep", "sh", "test", "true"] {
        let path = cli.scratch().write(format!("forged/bin/{program}"), "#!/bin/sh\nexit 0\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    cli.scratch().write("forged/home/.done", "");
    cli
}

/// The call in the environment of someone who wants checks to pass.
fn forged<'c>(cli: &'c Cli, mut call: Call<'c>) -> Call<'c> {
    for name in FORGED {
        call = call.env(*name, "forged");
    }
    // A file that does not exist: the loader of this process complains and goes on.
    call = call.env("LD_PRELOAD", "/forged.so");
    #[expect(clippy::disallowed_methods, reason = "the forged programs stand in front of the real ones")]
    let machine = std::env::var("PATH").unwrap();
    let bin = cli.scratch().join("forged/bin");
    call.env("PATH", format!("{}:{machine}", bin.display())).env("HOME", cli.scratch().join("forged/home"))
}

/// A script that fails where one of the variables arrives.
fn no_variable_arrives() -> String {
    let names = FORGED.iter().filter(|name| !matches!(**name, "IFS")).chain(&["LD_PRELOAD"]);
    let tests: Vec<String> = names.map(|name| format!("test -z \"${name}\" || exit 1")).collect();
    tests.join("; ")
}

/// A task by eve with these checks.
fn created(cli: &Cli, request: &str, more: &[&str]) -> String {
    let project = cli.project();
    let words = ["task", "create", "--title", "t", "--agent", "eve", "--request-id", request];
    let words = words.iter().copied().chain(["--project-id", project.to_str().unwrap()]);
    data(&cli.run(words.chain(more.iter().copied())))["task"]["id"].as_str().unwrap().to_owned()
}

fn get(cli: &Cli, id: &str) -> Value {
    data(&cli.run(["task", "get", "--id", id, "--output", "json"]))
}

/// Each door at which an agent completes a task outside a run.
fn doors<'c>(cli: &'c Cli, id: &str) -> Vec<(&'static str, Call<'c>)> {
    let push = json!({"task_id": id, "task_status": {"status": "completed"}}).to_string();
    let hook = json!({"session_id": "s", "task_id": id, "task_subject": "done", "cwd": cli.project()});
    let project = cli.project().to_str().unwrap().to_owned();
    let by_bob = |words: &[&str]| cli.call(words.iter().chain(&["--agent", "bob"]));
    vec![
        (
            "complete",
            by_bob(&[
                "task",
                "complete",
                "--id",
                id,
                "--outcome",
                "done",
                "--summary",
                "s",
                "--request-id",
                "c",
            ]),
        ),
        (
            "set-status",
            by_bob(&["task", "set-status", "--id", id, "--status", "completed", "--request-id", "s"]),
        ),
        ("push", by_bob(&["push", "--request-id", "p", "--json", &push])),
        ("hook", by_bob(&["hook", "task-completed"]).stdin(hook.to_string())),
        (
            "loop",
            cli.call([
                "loop",
                "--cooldown",
                "0",
                "--max-fails",
                "1",
                "--max-tasks",
                "1",
                "--output",
                "json",
                "--project-dir",
                &project,
                "--command",
                "true",
            ]),
        ),
    ]
}

#[test]
fn no_variable_of_the_completer_makes_a_check_pass() {
    let cli = lab();
    for (index, name) in FORGED.iter().chain(&["LD_PRELOAD"]).enumerate() {
        let check = format!("test \"${name}\" = forged || test \"${name}\" = /forged.so");
        let id = created(&cli, &format!("make{index}"), &["--check-shell", &check]);
        let words =
            ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--agent", "bob"];
        let call = cli.call(words.iter().chain(&["--request-id", &format!("done{index}")]));
        let refused = forged(&cli, call).run().fails_with(1).json();
        assert_eq!(refused["error_code"], "CHECK_FAILED", "{name}: {refused}");
    }
}

#[test]
fn a_forged_program_or_home_makes_no_check_pass_at_any_door() {
    let checks: &[&[&str]] = &[
        &["--check", "grep -q done work.txt"],
        &["--check-shell", "grep -q done work.txt"],
        &["--check-shell", "test -e ~/.done"],
    ];
    for (number, check) in checks.iter().enumerate() {
        for door in 0..5 {
            let cli = lab();
            cli.scratch().write("project/work.txt", "nothing yet\n");
            let id = created(&cli, "make", check);
            let (name, call) = doors(&cli, &id).swap_remove(door);
            // What the door says is its own; that the task is not done is what counts.
            drop(forged(&cli, call).run());
            let task = get(&cli, &id);
            assert_ne!(task["status"], "completed", "{name}, check {number}: {task}");
        }
    }
}

#[test]
fn at_every_door_checks_run_in_the_environment_of_the_author() {
    for door in 0..5 {
        let cli = lab();
        cli.scratch().write("project/work.txt", "done\n");
        let script = no_variable_arrives();
        let id = created(
            &cli,
            "make",
            &[
                "--check-shell",
                &script,
                "--check",
                "grep -q done work.txt",
                "--check-shell",
                "test ! -e ~/.done",
            ],
        );
        let (name, call) = doors(&cli, &id).swap_remove(door);
        drop(forged(&cli, call).run());
        let task = get(&cli, &id);
        assert_eq!(
            (&task["status"], &task["evidence"]),
            (&json!("completed"), &json!("verified")),
            "{name}: {task}"
        );
    }
}

/// A plan with one task whose checks pass only in the author's environment.
fn plan(command: &str) -> String {
    let script = no_variable_arrives();
    format!(
        "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\nshell = true\ncommand = '''{command}'''\n\
         writes = [\"out\"]\nscratch = [\"begun\", \"go\", \"work.txt\"]\nchecks_may_change = true\nenv = {{ ADDED = \"by the plan\" }}\n\
         [[task.checks]]\nshell = true\ncommand = '''{script}'''\n\
         [[task.checks]]\nshell = true\ncommand = 'test \"$ADDED\" = \"by the plan\" && test ! -e ~/.done'\n\
         [[task.checks]]\ncommand = [\"grep\", \"-q\", \"done\", \"work.txt\"]\n"
    )
}

#[test]
fn a_run_that_another_continues_is_checked_in_the_environment_of_its_author() {
    let cli = lab();
    cli.scratch().write("project/work.txt", "done\n");
    cli.scratch().write("project/plan.toml", plan("test -e go && mkdir -p out"));
    cli.run(["run", "plan.toml"]).fails_with(1);
    cli.scratch().write("project/go", "");
    forged(&cli, cli.call(["retry"])).run().success();
    assert_eq!(RunView::only(&cli).unwrap().statuses(), ["done, verified"]);
}

#[test]
fn an_interrupted_run_is_checked_again_in_the_environment_of_its_author() {
    let cli = lab();
    cli.scratch().write("project/work.txt", "not yet\n");
    cli.scratch().write("project/plan.toml", plan("touch begun; until [ -e go ]; do sleep 0.01; done"));
    let engine = cli.spawn(["run", "plan.toml"]);
    eventually("the task runs", || cli.project().join("begun").exists());
    drop(engine.kill_nine());
    cli.scratch().write("project/go", "");
    let run = RunView::only(&cli).unwrap().id;
    // The forged grep would find what is not there.
    drop(forged(&cli, cli.call(["run", "--continue", &run])).run());
    assert_eq!(RunView::of(&cli, &run).task("a").status, "blocked");
    cli.scratch().write("project/work.txt", "done\n");
    forged(&cli, cli.call(["run", "--continue", &run, "--rerun-parked"])).run().success();
    assert_eq!(RunView::of(&cli, &run).statuses(), ["done, verified"]);
}

#[test]
fn the_result_of_a_worker_is_checked_in_the_environment_of_the_plans_author() {
    for (work, verdict) in [("done", json!("done")), ("not yet", json!("blocked"))] {
        let cli = lab();
        cli.scratch().write("project/work.txt", format!("{work}\n"));
        let run = opened(&cli, &plan("true"));
        let words = ["worker", "run", "--run", &run, "--owner", "w1", "--", "true"];
        drop(forged(&cli, cli.call(words)).run());
        let row = &data(&cli.run(["ledger", "show", &run]))["ledger"][0];
        assert_eq!(row["status"], verdict, "{row}");
        if verdict == "done" {
            assert_eq!(row["x_evidence"], "verified", "{row}");
        }
    }
}

#[test]
fn every_variable_that_is_stored_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in contract::domain::environment::STORED {
        assert!(page.contains(&format!("`{name}`")), "{name} is not in docs/checks.md");
    }
}
