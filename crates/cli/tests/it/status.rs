//! A look at everything that touches nothing, and the step to a newer schema.

use std::fs;

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::bad_stores::sqlite;
use crate::documents::writ;

#[track_caller]
fn data(output: &Output) -> Value {
    let envelope = output.success().json();
    assert_eq!((&envelope["success"], output.stderr.as_str()), (&json!(true), ""), "{output}");
    envelope["data"].clone()
}

fn status(cli: &Cli, words: &[&str]) -> Value {
    data(&cli.run(["status"].iter().chain(words)))
}

#[test]
fn a_look_makes_no_store_and_says_that_there_is_none() {
    let cli = writ();
    let before = fs::read_dir(cli.scratch().path()).unwrap().count();
    let looked = status(&cli, &["--check", "--db-path", "deep/er/x.db"]);
    let path = cli.project().join("deep/er/x.db");
    let there = |value: &Value| value["path"].as_str().map(std::path::PathBuf::from);
    assert!(there(&looked["db"]).is_some_and(|path| path.ends_with("deep/er/x.db")));
    assert_eq!(
        (&looked["db"]["ok"], &looked["db"]["error"]),
        (&json!(false), &json!("there is no store yet"))
    );
    assert_eq!((&looked["query_ok"], looked.get("counts")), (&json!(false), None));
    assert_eq!(looked["diagnostics"][0]["level"], "info");
    assert!(!path.exists() && !cli.project().join("deep").exists());
    assert_eq!(fs::read_dir(cli.scratch().path()).unwrap().count(), before);
    fs::write(cli.db(), "").unwrap();
    assert_eq!(status(&cli, &["--check"])["query_ok"], false);
    assert_eq!(fs::metadata(cli.db()).unwrap().len(), 0);
}

#[test]
fn a_store_that_cannot_be_opened_is_told_and_not_touched() {
    let cli = writ();
    fs::write(cli.db(), "not a database, but somebody's notes; long enough to be read as a header of a page")
        .unwrap();
    let before = fs::read(cli.db()).unwrap();
    let looked = status(&cli, &["--check"]);
    assert_eq!((&looked["db"]["ok"], &looked["query_ok"]), (&json!(false), &json!(false)));
    assert_eq!(looked["diagnostics"][0]["code"], "FOREIGN_STORE");
    assert!(looked["query_error"].is_string() && looked["hint"].is_string(), "{looked}");
    assert_eq!(looked["db"]["size_bytes"], before.len());
    assert_eq!(fs::read(cli.db()).unwrap(), before);
    // A directory in its place, and one that is no directory above it.
    for place in ["home", "writ.db/x.db"] {
        let place = cli.scratch().join(place);
        assert_eq!(status(&cli, &["--db-path", place.to_str().unwrap()])["db"]["ok"], false);
    }
}

#[test]
fn everything_is_counted_and_hooks_are_seen() {
    let cli = writ().env("WRIT_AGENT", "ann");
    let empty = {
        data(&cli.run(["upgrade"]));
        status(&cli, &["--check"])
    };
    let detail = json!({
        "tasks": {"pending": 0, "in_progress": 0, "completed": 0, "blocked": 0}, "events": 0, "memory": 0, "agents": 0, "projects": 0,
        "tasks_detail": {"total": 0, "unknown": 0}, "events_detail": {"active": 0, "archived": 0},
        "memory_detail": {"active": 0, "expired": 0}, "agents_detail": {"active_7d": 0},
    });
    assert_eq!((&empty["counts"], &empty["query_ok"]), (&detail, &json!(true)));
    let usual = json!({
        "retention_days": 30, "prune_batch": 500, "summarize_threshold": 200, "summarize_keep_recent": 50,
    });
    assert_eq!(empty["maintenance"], usual);
    assert_eq!(
        (&empty["hooks"]["claude"], &empty["hooks"]["opencode"]["installed"]),
        (&json!(false), &json!(false))
    );
    data(&cli.run(["task", "create", "--title", "t", "--request-id", "r1"]));
    data(&cli.run(["hook", "install", "--claude", "--opencode"]));
    let full = status(&cli, &[]);
    assert_eq!((&full["counts"]["tasks"]["pending"], &full["counts"]["events"]), (&json!(1), &json!(1)));
    assert_eq!((&full["hooks"]["claude"], full.get("query_ok")), (&json!(true), None));
    let events = full["hooks"]["claude_events"].as_object().unwrap();
    assert!(events.len() == 10 && events.values().all(|installed| *installed == json!(true)), "{events:?}");
    let settings = cli.scratch().join("home/.claude/settings.json");
    assert_eq!(full["hooks"]["claude_settings_paths"], json!([settings.to_str().unwrap()]));
    assert_eq!(full["hooks"]["opencode"]["status"], "installed");
    assert_eq!(full.get("diagnostics"), None);
    let moved = fs::read_to_string(&settings).unwrap().replace(env!("CARGO_BIN_EXE_writ"), "/nowhere/writ");
    fs::write(&settings, moved).unwrap();
    assert_eq!(status(&cli, &[])["diagnostics"][0]["code"], "HOOK_PROGRAM_MISSING");
}

#[test]
fn an_upgrade_says_what_it_did_and_downloads_nothing() {
    let cli = writ();
    let made = data(&cli.run(["upgrade"]));
    assert_eq!((&made["source"], &made["method"]), (&json!("local"), &json!("migrate")));
    assert_eq!(
        (&made["migrated"], &made["changed"], &made["schema_before"]),
        (&json!(true), &json!(true), &json!(0))
    );
    let again = data(&cli.run(["upgrade"]));
    assert_eq!((&again["migrated"], &again["changed"]), (&json!(true), &json!(false)));
    assert_eq!(again["schema_before"], made["schema"]);
    sqlite(&cli.db(), "PRAGMA user_version = 999");
    let refused = cli.run(["upgrade"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "NEWER_STORE");
}
