//! Loops and workers whose programs are in a sandbox, because the configuration says so.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::opened;
use crate::sandbox::has_sandbox;
use crate::workers::PLAN;

fn configured(cli: &Cli, mode: &str) {
    cli.scratch().write(cli.project().join(".writ/config.toml"), format!("[sandbox]\nmode = \"{mode}\"\n"));
}

fn created(cli: &Cli, title: &str) -> String {
    let words = ["task", "create", "--title", title, "--output", "json"];
    cli.run(words).success().json()["data"]["task"]["id"].as_str().unwrap().to_owned()
}

/// Runs a loop whose agent program is this script.
fn looped(cli: &Cli, script: &str, more: &[&str]) -> Output {
    let path = cli.scratch().write("agent.sh", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let command = path.display().to_string();
    let words = ["loop", "--cooldown", "0", "--max-fails", "1", "--output", "json", "--command", &command];
    cli.call(words.iter().chain(more)).run()
}

fn closing() -> String {
    let writ = env!("CARGO_BIN_EXE_writ");
    format!(
        "{writ} task complete --id $WRIT_TASK --outcome done --summary ok --request-id c-$WRIT_TASK --output json >&2"
    )
}

fn status(cli: &Cli, id: &str) -> Value {
    let answer = cli.run(["task", "get", "--id", id, "--output", "json"]).success().json();
    answer["data"]["status"].clone()
}

fn recorded(cli: &Cli) -> Vec<Value> {
    let words = ["events", "list", "--all", "--limit", "200", "--output", "json"];
    let events = cli.run(words).success().json();
    let rows = events["data"]["events"].as_array().unwrap_or_else(|| panic!("{events}")).clone();
    rows.into_iter().filter(|row| row["kind"] == "sandbox_in_force").collect()
}

#[test]
fn a_loop_keeps_its_agent_program_to_the_project_and_lets_it_close_its_task() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    configured(&cli, "enforce");
    let outside = cli.scratch().dir("outside");
    let other = created(&cli, "other");
    let id = created(&cli, "first");
    let tries = format!(
        "[ \"$WRIT_TASK\" = {other} ] && exit 1\n\
         touch {outside}/here 2>/dev/null && exit 9\n\
         cat {db} >/dev/null 2>&1 && exit 8\n\
         echo x > .writ/config.toml 2>/dev/null && exit 7\n\
         case $HOME in {home}*) exit 6;; esac\n\
         {writ} task get --id {other} >/dev/null 2>&1 && exit 5\n\
         echo made > made && {closing}",
        outside = outside.display(),
        db = cli.db().display(),
        home = cli.scratch().path().join("home").display(),
        writ = env!("CARGO_BIN_EXE_writ"),
        closing = closing(),
    );
    cli.run(["task", "set-status", "--id", &other, "--status", "blocked", "--blocked-reason", "later"])
        .success();
    let answer = looped(&cli, &tries, &["--max-tasks", "1"]);
    let data = answer.success().json()["data"].clone();
    assert_eq!(data["results"][0]["status"], "completed", "{answer}");
    assert_eq!((status(&cli, &id), status(&cli, &other)), (json!("completed"), json!("blocked")));
    assert_eq!(std::fs::read_to_string(cli.project().join("made")).unwrap(), "made\n");
    assert!(answer.stderr.contains("sandbox enforce: all of it is in force"), "{answer}");
    let event = recorded(&cli).pop().expect("an event").to_string();
    assert!(event.contains("enforce") && event.contains("files"), "{event}");
    // Nothing of it is left.
    let left = std::fs::read_dir(format!("{}.sandbox", cli.db().display())).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_loop_reads_its_prompt_file_in_the_sandbox_and_commits_only_where_it_may() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    configured(&cli, "enforce");
    let git = |words: &[&str]| cli.call(words).program("git").run();
    git(&["init", "-q"]).success();
    for (more, expected) in [(&[][..], "blocked"), (&["--git", "commit"], "completed")] {
        let id = created(&cli, expected);
        let script = format!(
            "grep -q \"$WRIT_TASK\" \"$1\" || exit 9\n\
             git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m one && {}",
            closing()
        );
        let path = cli.scratch().write("agent.sh", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let command = format!("{} {{prompt_file}}", path.display());
        let words = ["loop", "--cooldown", "0", "--max-fails", "1", "--command", &command];
        cli.call(words.iter().chain(more)).run().success();
        assert_eq!(status(&cli, &id), expected, "{more:?}");
    }
    let planted = format!("echo x >> .git/config || exit 3; {}", closing());
    let id = created(&cli, "planted");
    looped(&cli, &planted, &["--git", "commit"]).success();
    assert_eq!(status(&cli, &id), "blocked");
}

#[test]
fn where_a_sandbox_cannot_be_had_a_demanded_one_is_refused_and_a_preferred_one_says_so() {
    let cli = Cli::writ();
    configured(&cli, "enforce");
    created(&cli, "one");
    let refused = looped(&cli, "touch ran", &["--namespace", "off"]);
    assert_eq!(refused.json()["error_code"], "DENIED", "{refused}");
    assert!(refused.stdout.contains("demands a sandbox"), "{refused}");
    assert!(!cli.project().join("ran").exists());
    let run = opened(&cli, PLAN);
    let words =
        ["worker", "run", "--run", &run, "--owner", "w1", "--namespace", "off", "--output", "json", "--"];
    let refused = cli.call(words.iter().chain(&["touch", "ran"])).run();
    assert_eq!(refused.json()["error_code"], "DENIED", "{refused}");
    // Nothing was taken.
    let row = cli.run(["ledger", "show", &run]).success().json()["data"]["ledger"][0].clone();
    assert_eq!(row["status"], "todo", "{row}");
    if !has_sandbox(&cli) {
        return;
    }
    configured(&cli, "prefer");
    let told = looped(&cli, &closing(), &["--namespace", "off"]);
    assert!(told.success().stderr.contains("sandbox prefer: not in force:"), "{told}");
}

#[test]
fn a_worker_keeps_its_command_to_the_lock_scope_of_its_assignment() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    configured(&cli, "enforce");
    std::fs::create_dir_all(cli.project().join("a")).unwrap();
    std::fs::create_dir_all(cli.project().join("b")).unwrap();
    let run = opened(&cli, PLAN);
    let script = format!(
        "touch b/file 2>/dev/null && exit 9\n\
         cat {db} >/dev/null 2>&1 && exit 8\n\
         cmp /dev/stdin \"$WRIT_PACKET\" || exit 7\n\
         echo '{{\"notes_for_orchestrator\": [\"from inside\"]}}' > \"$WRIT_RESULT\" || exit 6\n\
         echo hello > a/file",
        db = cli.db().display()
    );
    let words =
        ["worker", "run", "--run", &run, "--owner", "w1", "--output", "json", "--", "sh", "-c", &script];
    let done = cli.call(words).run();
    let data = done.success().json()["data"].clone();
    assert_eq!(data["tasks"][0]["status"], "done", "{done}");
    assert!(done.stderr.contains("T-1  sandbox enforce: all of it is in force"), "{done}");
    assert_eq!(recorded(&cli).len(), 1);
    assert!(!cli.project().join("b/file").exists());
    cli.run(["audit", "verify", "--replay"]).success();
}
