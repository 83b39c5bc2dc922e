//! Checks on ordinary tasks, and trust in the commands of a project, through the built program.

use serde_json::{Value, json};
use testkit::{Cli, Output, eventually};

use crate::bad_stores::sqlite;
use crate::decisions::digits;
use crate::documents::writ;

fn ann() -> Cli {
    writ().env("WRIT_AGENT", "ann")
}

#[track_caller]
fn data(output: &Output) -> Value {
    output.success().json()["data"].clone()
}

/// A task of the project with these flags; its id.
fn created(cli: &Cli, more: &[&str]) -> String {
    let project = cli.project();
    let words = ["task", "create", "--title", "t", "--request-id", "make", "--project-id"];
    let words = words.iter().copied().chain([project.to_str().unwrap()]).chain(more.iter().copied());
    data(&cli.run(words))["task"]["id"].as_str().unwrap().to_owned()
}

fn get(cli: &Cli, id: &str) -> Value {
    data(&cli.run(["task", "get", "--id", id]))
}

fn complete(cli: &Cli, agent: &str, id: &str) -> Output {
    let words = ["task", "complete", "--outcome", "done", "--summary", "s", "--agent", agent];
    cli.run(words.iter().copied().chain(["--id", id, "--request-id", "done"]))
}

#[test]
fn done_is_granted_after_the_checks_of_the_task_passed() {
    let cli = ann();
    let id = created(&cli, &["--check", "test -e 'two words'", "--check-shell", "test -d . && echo fine"]);
    let shown = get(&cli, &id);
    assert_eq!(shown["checks"][0]["command"], json!(["test", "-e", "two words"]));
    assert_eq!(
        (&shown["checks"][1]["command"], &shown["checks"][1]["shell"]),
        (&json!(["test -d . && echo fine"]), &json!(true))
    );
    let refused = complete(&cli, "bob", &id).fails_with(1).json();
    assert_eq!(refused["error_code"], "CHECK_FAILED");
    assert!(
        refused["error"].as_str().unwrap().contains("check `test -e two words` failed: exit 1"),
        "{refused}"
    );
    assert_eq!(get(&cli, &id)["status"], "pending");
    cli.scratch().write("project/two words", "");
    // The refused request left its id usable.
    let done = data(&complete(&cli, "bob", &id));
    assert_eq!(
        (&done["task"]["status"], &done["task"]["evidence"]),
        (&json!("completed"), &json!("verified"))
    );
    assert_eq!(done["task"].get("self_checked"), None);
    let events = data(&cli.run(["events", "list", "--all", "--kind", "task_verified"]));
    assert_eq!(events["events"][0]["metadata"]["checks"][1]["output_tail"], "fine\n");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn the_author_of_the_checks_completes_the_task_visibly() {
    let cli = ann();
    let id = created(&cli, &["--check", "true"]);
    let done = data(&complete(&cli, "ann", &id));
    assert_eq!(
        (&done["task"]["evidence"], &done["task"]["self_checked"]),
        (&json!("self-checked"), &json!(true))
    );
}

#[test]
fn the_last_lines_of_a_failed_check_are_shown() {
    let cli = ann();
    let id = created(&cli, &["--check-shell", "echo one; echo 'assertion failed: 2 == 3' >&2; exit 7"]);
    for verb in ["complete", "set-status", "push"] {
        let document = json!({"task_id": id, "task_status": {"status": "completed"}}).to_string();
        let output = match verb {
            "complete" => complete(&cli, "bob", &id),
            "push" => cli.run(["push", "--request-id", "p", "--json", &document]),
            _ => cli.run(["task", "set-status", "--id", &id, "--status", "completed", "--request-id", "s"]),
        };
        let refused = output.fails_with(1).json();
        assert!(refused["error"].as_str().unwrap().ends_with("exit 7, expected 0"), "{verb}: {refused}");
        let context = &refused["error_context"];
        assert_eq!(
            (&context["exit_code"], &context["rule"]),
            (&json!("7"), &json!("check_failed")),
            "{verb}"
        );
        assert_eq!(context["last_lines"], "one\nassertion failed: 2 == 3", "{verb}");
        assert_eq!(get(&cli, &id)["status"], "pending", "{verb}");
    }
}

#[test]
fn a_person_sees_the_last_lines_too() {
    let cli = ann();
    let id = created(&cli, &["--check-shell", "echo 'expected 3, got 2'; false"]);
    let words = ["task", "complete", "--outcome", "done", "--summary", "s", "--id", &id, "--request-id", "d"];
    let output = cli.run(words.iter().chain(&["--output", "text"]));
    let said = &output.fails_with(1).stderr;
    assert!(said.contains("exit 1, expected 0\n  expected 3, got 2\nhint: "), "{said}");
}

#[test]
fn a_check_that_needs_a_shell_is_refused_with_the_flag_that_gives_one() {
    let cli = ann();
    for (flag, line, hint) in [
        ("--check", "a && b", "--check-shell"),
        ("--check", "a | b", "--check-shell"),
        ("--check", "a > b", "--check-shell"),
        ("--check", "echo 'open", "--check-shell"),
        ("--check", "'' x", "cargo test"),
        // An unset variable must not drop the check.
        ("--check", "", ""),
        ("--check-shell", "", ""),
    ] {
        let words = ["task", "create", "--title", "t", "--request-id", "r", flag, line];
        let refused = cli.run(words).fails_with(1).json();
        assert_eq!(
            (&refused["error_code"], &refused["error_context"]["path"]),
            (&json!("INVALID_INPUT"), &json!(flag))
        );
        let action = refused["suggested_action"].as_str().unwrap_or_default();
        assert!(action.contains(hint), "{refused}");
    }
    assert_eq!(data(&cli.run(["task", "list"]))["count"], 0);
}

#[test]
fn checks_of_a_task_outside_directories_run_where_it_was_created() {
    let cli = ann();
    cli.scratch().write("project/here", "");
    let words = [
        "task",
        "create",
        "--title",
        "t",
        "--request-id",
        "r",
        "--project-id",
        "word",
        "--check",
        "test -e here",
    ];
    let id = data(&cli.run(words))["task"]["id"].as_str().unwrap().to_owned();
    let words = ["task", "complete", "--outcome", "done", "--summary", "s", "--id", &id, "--request-id", "d"];
    data(&cli.call(words).in_dir(cli.scratch().path()).run());
}

#[test]
fn the_claim_is_kept_and_nobody_waits_while_checks_run() {
    let cli = ann();
    let id = created(&cli, &["--check-shell", "touch started; while [ ! -e go ]; do sleep 0.05; done"]);
    data(&cli.run(["task", "begin", "--id", &id, "--request-id", "b"]));
    let until = || sqlite(&cli.db(), "SELECT claim_until FROM tasks").trim().parse::<i64>().unwrap();
    let before = until();
    let words = ["task", "complete", "--outcome", "done", "--summary", "s", "--id", &id, "--request-id", "d"];
    let running = cli.spawn(words);
    let started = cli.project().join("started");
    eventually("the check starts", || started.exists());
    let words = ["task", "create", "--title", "other", "--agent", "bob", "--request-id", "o"];
    data(&cli.call(words).run());
    eventually("the claim is renewed", || until() > before);
    cli.scratch().write("project/go", "");
    assert_eq!(data(&running.wait())["task"]["evidence"], "self-checked");
}

const CHECKS: &str = "[checks]\ntest = \"test -e proof\"\n";

#[test]
fn checks_of_a_cloned_project_run_only_after_a_person_trusts_them() {
    let cli = ann();
    cli.scratch().write("project/.writ/config.toml", CHECKS);
    cli.scratch().write("project/proof", "");
    let id = created(&cli, &[]);
    let refused = complete(&cli, "ann", &id).fails_with(1).json();
    assert_eq!(refused["error_code"], "DENIED");
    assert!(refused["suggested_action"].as_str().unwrap().contains("writ trust"), "{refused}");
    assert_eq!(get(&cli, &id)["status"], "pending");
    cli.run(["trust", "--check"]).fails_with(1);
    // Without a terminal there is no person.
    let refused = cli.run(["trust", "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "DENIED");
    assert_eq!(cli.run(["trust", "--list"]).success().stdout, "no project is trusted\n");
}

#[test]
fn wrong_checks_in_a_project_are_named_and_nothing_is_done() {
    let cli = ann();
    let id = created(&cli, &[]);
    for (text, said) in [
        ("[checks]\na = \"x && y\"\n", "$.checks.a: has `&&`"),
        ("[checks]\na = 7\n", "$.checks.a"),
        ("[checks\n", "line 1"),
    ] {
        cli.scratch().write("project/.writ/config.toml", text);
        let refused = complete(&cli, "ann", &id).fails_with(1).json();
        assert_eq!(refused["error_code"], "INVALID_INPUT");
        assert!(refused["error"].as_str().unwrap().contains(said), "{refused}");
    }
    assert_eq!(get(&cli, &id)["status"], "pending");
}

#[test]
fn checks_in_the_users_own_configuration_are_refused() {
    let cli = ann();
    cli.scratch().write("home/.config/writ/config.toml", CHECKS);
    let refused = cli.run(["config", "show", "--output", "json"]).fails_with(1).json();
    assert!(refused["error"].as_str().unwrap().contains("$.checks: belongs in"), "{refused}");
}

/// A person at a terminal who types this; `script` gives the program a terminal.
fn typed(cli: &Cli, keys: &str, words: &str) -> Output {
    let person = Cli::new("script").env("WRIT_DB", cli.db()).env("USER", "eve");
    let line = format!("cd {} && exec {} {words}", cli.project().display(), env!("CARGO_BIN_EXE_writ"));
    let mut shown = person.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").open_stdin().spawn();
    eventually("the question", || digits(&shown.stdout()).is_some());
    let digits = digits(&shown.stdout()).unwrap();
    shown.send(&keys.replace("DIGITS", &digits));
    shown.wait()
}

#[test]
fn a_person_trusts_the_commands_they_saw_until_they_change() {
    let cli = ann();
    cli.scratch().write("project/.writ/config.toml", "[checks]\ntest = \"sh .writ/check.sh\"\n");
    cli.scratch().write("project/.writ/check.sh", "test -e proof\n");
    let id = created(&cli, &[]);
    let refused = typed(&cli, "n\n", "trust");
    assert!(refused.fails_with(1).stdout.contains("  sh .writ/check.sh"), "{refused}");
    cli.run(["trust", "--check"]).fails_with(1);
    typed(&cli, "yes\n", "trust").fails_with(1);
    cli.run(["trust", "--check"]).fails_with(1);
    typed(&cli, "DIGITS\n", "trust").success();
    assert!(cli.run(["trust", "--check"]).success().stdout.contains("is trusted"));
    let listed = cli.run(["trust", "--list", "--output", "json"]).success().json();
    assert_eq!(listed["data"]["trusted"][0]["trusted_by"], "human.eve");
    let refused = complete(&cli, "ann", &id).fails_with(1).json();
    assert_eq!(refused["error_code"], "CHECK_FAILED");
    cli.scratch().write("project/proof", "");
    // A script in .writ is a part of what was trusted.
    cli.scratch().write("project/.writ/check.sh", "touch ran; test -e proof\n");
    let refused = complete(&cli, "ann", &id).fails_with(1).json();
    assert_eq!(
        (&refused["error_code"], &refused["error_context"]["state"]),
        (&json!("DENIED"), &json!("changed"))
    );
    assert!(!cli.project().join("ran").exists());
    let asked = typed(&cli, "DIGITS\n", "trust");
    assert!(asked.success().stdout.contains("changed since they were trusted"), "{asked}");
    // Deleting the checks does not switch them off.
    let kept = std::fs::read_to_string(cli.project().join(".writ/config.toml")).unwrap();
    std::fs::remove_file(cli.project().join(".writ/config.toml")).unwrap();
    let refused = complete(&cli, "ann", &id).fails_with(1).json();
    assert_eq!(refused["error_context"]["state"], "no_commands", "{refused}");
    cli.scratch().write("project/.writ/config.toml", &kept);
    assert_eq!(data(&complete(&cli, "ann", &id))["task"]["evidence"], "verified");
    cli.run(["trust", "--revoke"]).success();
    cli.run(["trust", "--check"]).fails_with(1);
    cli.run(["trust", "--revoke"]).fails_with(1);
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn trust_covers_whole_scripts_and_ends_also_where_the_configuration_is_damaged() {
    let cli = ann();
    let config = cli.scratch().write("project/.writ/config.toml", "[checks]\ntest = \"sh .writ/check.sh\"\n");
    let long = format!("# {}\n", "x".repeat(contract::domain::limits::DOCUMENT_BYTES_MAX));
    let script = cli.scratch().write("project/.writ/check.sh", &long);
    typed(&cli, "DIGITS\n", "trust").success();
    cli.run(["trust", "--check"]).success();
    std::fs::write(&script, format!("{long}touch ran\n")).unwrap();
    assert!(cli.run(["trust", "--check"]).fails_with(1).stdout.contains("changed"));
    // A script that cannot be read could do anything later.
    std::fs::remove_file(&script).unwrap();
    std::os::unix::fs::symlink("check.sh", &script).unwrap();
    let refused = cli.run(["trust", "--check", "--output", "json"]).fails_with(1).json();
    assert!(refused["error"].as_str().unwrap().contains("check.sh"), "{refused}");
    std::fs::write(config, "[checks\n").unwrap();
    cli.run(["trust", "--revoke"]).success();
    let listed = cli.run(["trust", "--list", "--output", "json"]).success().json();
    assert_eq!(listed["data"]["trusted"], json!([]));
}

#[test]
fn an_agent_at_a_terminal_cannot_trust_a_project() {
    use std::os::unix::fs::PermissionsExt;
    let cli = ann();
    cli.scratch().write("project/.writ/config.toml", CHECKS);
    let agent =
        cli.scratch().write("bin/claude", format!("#!/bin/sh\n{} trust\n", env!("CARGO_BIN_EXE_writ")));
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = Cli::new("script").env("WRIT_DB", cli.db());
    let line = format!("cd {} && {}", cli.project().display(), agent.display());
    let refused = terminal.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin("y\n").run();
    assert!(refused.fails_with(1).stdout.contains("`claude` (process"), "{refused}");
    cli.run(["trust", "--check"]).fails_with(1);
}
