//! `writ uninstall` removes what writ installed, restores what was there before, and deletes the store only when asked to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::{plan, scripted, writ};

const SETTINGS: &str = "home/.claude/settings.json";
const OWN_SETTINGS: &str = "{\n  // mine\n  \"model\": \"opus\",\n}\n";

fn uninstall(cli: &Cli, words: &[&str]) -> Output {
    cli.run(["uninstall", "--output", "json"].iter().chain(words))
}

#[track_caller]
fn data(output: &Output) -> Value {
    output.success().json()["data"].clone()
}

/// Every file and link below the home and the project, with its text.
fn tree(cli: &Cli) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending = vec![cli.scratch().join("home"), cli.project()];
    while let Some(directory) = pending.pop() {
        for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

#[track_caller]
fn install_everything(cli: &Cli) {
    let calls: [&[&str]; 5] = [
        &["hook", "install", "--claude", "--opencode"],
        &["hook", "install", "--claude", "--opencode", "--project"],
        &["personality", "install", "bin"],
        &["init"],
        &["doctor"],
    ];
    for words in calls {
        cli.run(words).success();
    }
    let script = cli.run(["completions", "bash"]).success().stdout.clone();
    cli.scratch().write("home/.local/share/bash-completion/completions/writ", script);
}

#[test]
fn everything_that_was_installed_is_removed_and_the_old_bytes_are_back() {
    let cli = writ();
    cli.scratch().write(SETTINGS, OWN_SETTINGS);
    let before = tree(&cli);
    install_everything(&cli);
    let installed = tree(&cli);
    assert!(installed.len() >= before.len() + 6, "{installed:?}");

    let shown = data(&uninstall(&cli, &["--project", "--dry-run"]));
    assert_eq!(tree(&cli), installed, "a dry run changes nothing");
    let done = data(&uninstall(&cli, &["--project"]));
    assert_eq!(tree(&cli), before);
    assert_eq!((&shown["dry_run"], &done["dry_run"]), (&json!(true), &json!(false)));
    assert_eq!(shown["files"], done["files"]);
    assert_eq!(done["store"], json!({"path": cli.db(), "removed": false}));
    assert_eq!(done["program"], env!("CARGO_BIN_EXE_writ"));
    assert!(cli.db().is_file(), "the store stays");

    let again = data(&uninstall(&cli, &["--project"]));
    assert_eq!((&again["files"], &again["kept"]), (&json!([]), &json!([])));
    let text = cli.run(["uninstall"]);
    assert!(text.success().stdout.starts_with("nothing to remove\nkept the store "), "{text}");
}

#[test]
fn what_changed_since_keeps_its_changes() {
    let cli = writ();
    cli.scratch().write(SETTINGS, OWN_SETTINGS);
    install_everything(&cli);
    let settings = cli.scratch().read(SETTINGS).replace("opus", "sonnet");
    cli.scratch().write(SETTINGS, settings);
    let completions = "home/.local/share/bash-completion/completions/writ";
    cli.scratch().write(completions, "mine");
    cli.scratch().write("project/.writ/config.toml", "[policy]\ndeny_shell = true\n");
    let done = data(&uninstall(&cli, &["--project"]));
    assert_eq!(cli.scratch().read(SETTINGS), OWN_SETTINGS.replace("opus", "sonnet"));
    assert_eq!(cli.scratch().read(completions), "mine");
    assert!(cli.scratch().has("project/.writ/config.toml"));
    let kept: Vec<&str> =
        done["kept"].as_array().unwrap().iter().map(|kept| kept["path"].as_str().unwrap()).collect();
    let expected = [cli.scratch().join(completions), cli.project().join(".writ/config.toml")];
    assert_eq!(kept, expected.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>());
}

#[test]
fn hooks_of_a_project_stay_without_the_flag_and_are_named() {
    let cli = writ();
    cli.run(["hook", "install", "--claude", "--project"]).success();
    let settings = cli.project().join(".claude/settings.json");
    let done = data(&uninstall(&cli, &[]));
    assert!(settings.is_file());
    assert_eq!(done["kept"][0]["path"], json!(settings), "{done}");
    assert!(done["kept"][0]["reason"].as_str().unwrap().contains("writ uninstall --project"), "{done}");
    uninstall(&cli, &["--project"]).success();
    assert!(!settings.exists());
}

#[test]
fn only_links_to_writ_are_removed() {
    let cli = writ();
    let bin = cli.scratch().dir("bin");
    symlink(env!("CARGO_BIN_EXE_writ"), bin.join("vybe")).unwrap();
    let other = cli.scratch().dir("other");
    fs::write(other.join("vybe"), "somebody else's program").unwrap();
    let third = cli.scratch().dir("third");
    symlink("/bin/true", third.join("vybe")).unwrap();
    let path = std::env::join_paths([&bin, &other, &third]).unwrap();
    let done = cli.call(["uninstall", "--output", "json"]).env("PATH", path).run();
    assert_eq!(data(&done)["files"], json!([{"path": bin.join("vybe"), "action": "remove"}]));
    assert!(
        !bin.join("vybe").is_symlink() && other.join("vybe").is_file() && third.join("vybe").is_symlink()
    );
}

#[test]
fn the_store_is_deleted_only_when_a_person_says_so() {
    let cli = writ();
    let plan = plan([scripted("a", "exit 0")]);
    let file = cli.scratch().write("project/plan.json", plan.to_string());
    cli.run(["run", file.to_str().unwrap()]).success();
    let [backup, foreign] =
        ["writ.db.schema2-17.backup", "writ.db.txt"].map(|name| cli.scratch().write(name, "x"));
    let unasked = uninstall(&cli, &["--purge"]);
    let error = unasked.fails_with(2).json();
    assert!(error["suggested_action"].as_str().unwrap().contains("--yes"), "{error}");
    uninstall(&cli, &["--yes"]).fails_with(2);
    let shown = data(&uninstall(&cli, &["--purge", "--dry-run"]));
    assert!(cli.db().is_file() && backup.is_file());
    let done = data(&uninstall(&cli, &["--purge", "--yes"]));
    assert_eq!(done["store"]["removed"], true);
    for gone in [cli.db(), backup, cli.scratch().join("writ.db.logs"), cli.scratch().join("writ.db-wal")] {
        assert!(!gone.exists(), "{}", gone.display());
    }
    let listed = |answer: &Value| answer["files"].to_string();
    assert!(listed(&shown).contains("writ.db.logs") && listed(&done).contains("writ.db.logs"), "{done}");
    assert!(foreign.is_file());
    let again = data(&uninstall(&cli, &["--purge", "--yes"]));
    assert_eq!((&again["store"]["removed"], &again["files"]), (&json!(false), &json!([])));
}

#[test]
fn a_file_of_another_program_is_not_deleted() {
    let cli = writ();
    cli.scratch().write(SETTINGS, OWN_SETTINGS);
    cli.run(["hook", "install", "--claude"]).success();
    fs::write(cli.db(), "my notes").unwrap();
    let refused = uninstall(&cli, &["--purge", "--yes"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "FOREIGN_STORE");
    assert_eq!(fs::read_to_string(cli.db()).unwrap(), "my notes");
    assert_ne!(cli.scratch().read(SETTINGS), OWN_SETTINGS, "a refusal changes nothing");
}

#[test]
fn a_store_is_not_deleted_while_a_run_is_working() {
    let cli = writ();
    let plan = plan([scripted("a", "hang")]);
    let file = cli.scratch().write("project/plan.json", plan.to_string());
    let run = cli.spawn(["run", file.to_str().unwrap()]);
    let started = || run.stderr().contains("a: started");
    testkit::eventually("the task runs", started);
    let refused = uninstall(&cli, &["--purge", "--yes"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "WRONG_STATE");
    assert!(cli.db().is_file());
    drop(run);
}

#[test]
fn a_damaged_store_can_be_deleted_and_one_that_cannot_be_read_is_not() {
    let cli = writ();
    cli.run(["upgrade"]).success();
    let stored = fs::read(cli.db()).unwrap();
    // SQLite cannot open its log where a directory has its name.
    let log = cli.scratch().join("writ.db-wal");
    fs::remove_file(&log).ok();
    fs::create_dir(&log).unwrap();
    let refused = uninstall(&cli, &["--purge", "--yes"]);
    assert!(!refused.status.success() && cli.db().is_file(), "{refused}");
    fs::remove_dir(&log).unwrap();
    let mut damaged = stored;
    damaged[100..].fill(0xff);
    fs::write(cli.db(), damaged).unwrap();
    assert_eq!(data(&uninstall(&cli, &["--purge", "--yes"]))["store"]["removed"], true);
    assert!(!cli.db().exists());
}

#[test]
fn a_person_at_a_terminal_is_asked_before_the_store_is_deleted() {
    let cli = writ();
    cli.run(["upgrade"]).success();
    for (answer, remains) in [("n", true), ("", true), ("yes", true), ("the digits", false)] {
        let mut asked = cli.call(["uninstall", "--purge"]).on_terminal(120, 24);
        let digits = || crate::decisions::digits(&String::from_utf8_lossy(&asked.printed()));
        testkit::eventually("the question is asked", || digits().is_some());
        let answer = if remains { answer.to_owned() } else { digits().unwrap() };
        asked.press(&format!("{answer}\n"));
        assert_eq!(asked.wait().success(), !remains);
        assert_eq!(cli.db().exists(), remains, "{answer:?}");
    }
}
