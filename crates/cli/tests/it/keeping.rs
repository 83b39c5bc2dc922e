//! What the store keeps and for how long.

use std::fs;
use std::io::{Seek, Write};

use serde_json::json;
use testkit::Cli;

use crate::answers::{ann, data, task};
use crate::documents::writ;
use crate::durable::mutations::Author;

/// A store in which something was begun and finished long ago.
fn old_store() -> Cli {
    let cli = writ();
    let mut author = Author::new(&cli.db(), 1);
    let finished = author.task("finished");
    author.call("task.complete", json!({"id": finished, "outcome": "done", "summary": "well"}));
    author.task("still to do");
    cli
}

#[test]
fn gc_removes_what_is_old_and_the_audit_says_where_the_log_begins() {
    let cli = old_store();
    let alone = cli.run(["gc", "--dry-run"]);
    assert!(alone.success().stdout.contains("0 old events would be removed"), "{alone}");
    assert!(alone.stdout.contains("old by this clock alone: kept"), "{alone}");
    // From here on the log says too that it is late.
    cli.run(["memory", "set", "--key", "k", "--value", "today"]).success();
    let would = cli.run(["gc", "--dry-run"]);
    assert!(would.success().stdout.contains("3 old events would be removed"), "{would}");
    assert!(would.stdout.contains("kept: the rest of project:p, which task_"), "{would}");
    let whole = cli.run(["audit", "verify", "--replay", "--output", "json"]).success().json();
    assert_eq!((&whole["data"]["replayed"], &whole["data"]["pruned_events"]), (&json!(true), &json!(0)));

    let call = ["gc", "--output", "json", "--agent", "ann", "--request-id", "g1"];
    let done = cli.run(call);
    assert_eq!(done.success().json()["data"]["done"]["pruned"], 3, "{done}");
    assert_eq!(cli.run(call).success().stdout, done.stdout, "the same answer again");

    let text = cli.run(["audit", "verify", "--replay"]);
    let said = &text.success().stdout;
    assert!(said.contains("integrity: ok") && said.contains("completeness: ok"), "{text}");
    assert!(said.contains("3 old events were removed") && said.contains("replay: not possible"), "{text}");
    let document = cli.run(["audit", "verify", "--replay", "--output", "json"]).success().json();
    assert_eq!(
        (&document["data"]["replayed"], &document["data"]["pruned_events"]),
        (&json!(false), &json!(3))
    );
    let kinds = cli.run(["events", "list", "--all", "--kind", "events_pruned", "--output", "json"]);
    assert_eq!(kinds.success().json()["data"]["count"], 1, "{kinds}");
}

#[test]
fn the_user_decides_how_long_events_are_kept_and_a_project_has_no_say() {
    let cli = old_store();
    cli.scratch().write("project/.writ/config.toml", "events_retention_days = 1\n");
    cli.scratch().write("home/.config/writ/config.toml", "events_retention_days = 3650\n");
    let output = cli.run(["gc"]);
    assert!(output.success().stdout.contains("0 old events removed"), "{output}");
    let shown = cli.run(["config", "show"]);
    assert!(shown.success().stdout.contains("events_retention_days  3650"), "{shown}");
    for (name, number) in
        [("events_retention_days", 3651), ("events_prune_batch", 10_001), ("events_summarize_threshold", 19)]
    {
        cli.scratch().write("home/.config/writ/config.toml", format!("{name} = {number}\n"));
        let refused = cli.run(["gc"]);
        assert!(refused.fails_with(1).stderr.contains(name), "{refused}");
    }
}

#[test]
fn archived_events_are_listed_only_when_asked_for() {
    let cli = old_store();
    let mut author = Author::new(&cli.db(), 2);
    (0..70).for_each(|number| drop(author.task(&number.to_string())));
    drop(author);
    cli.scratch().write(
        "home/.config/writ/config.toml",
        "events_summarize_threshold = 20\nevents_summarize_keep_recent = 5\nevents_retention_days = 3650\n",
    );
    let output = cli.run(["gc"]);
    assert!(output.success().stdout.starts_with("69 events archived in 1 summaries"), "{output}");
    let count = |words: &[&str]| {
        let all = ["events", "list", "--all", "--output", "json"];
        cli.run(all.iter().chain(words)).success().json()["data"]["count"].clone()
    };
    assert_eq!(
        (count(&["--limit", "1000"]), count(&["--limit", "1000", "--include-archived"])),
        // Also the note that old answers wait for a second call.
        (json!(7), json!(76))
    );
}

#[test]
fn a_backup_is_a_store_and_replaces_no_file_unless_told() {
    let cli = old_store();
    let copy = cli.scratch().join("copy.db");
    let copy = copy.to_str().unwrap();
    let made = cli.run(["backup", copy]);
    assert!(made.success().stdout.contains("4 events, it verifies"), "{made}");
    let again = cli.run(["backup", copy, "--output", "json"]);
    let refused = again.fails_with(1).json();
    assert_eq!(refused["error_code"], "ALREADY_EXISTS", "{again}");
    assert!(refused["suggested_action"].as_str().unwrap().contains("--force"), "{again}");
    cli.run(["backup", copy, "--force"]).success();
    let tasks = |words: &[&str]| {
        cli.run(["task", "list"].iter().chain(words)).success().json()["data"]["count"].clone()
    };
    assert_eq!((tasks(&["--db-path", copy]), tasks(&[])), (json!(2), json!(2)));
    let help = cli.run(["backup", "--help"]);
    assert!(help.success().stdout.contains("cp BACKUP STORE"), "{help}");
}

#[test]
fn what_is_not_there_is_neither_kept_nor_judged_nor_made() {
    let cli = writ();
    for words in [&["backup", "copy.db"][..], &["export"], &["gc"], &["audit", "verify"], &["audit", "tip"]] {
        let refused = cli.run([words, &["--output", "json"]].concat());
        assert_eq!(refused.fails_with(1).json()["error_code"], "NOT_FOUND", "{words:?}: {refused}");
    }
    let doctor = cli.run(["doctor"]);
    assert!(doctor.success().stdout.contains("none yet at"), "{doctor}");
    assert!(!cli.db().exists() && !cli.project().join("copy.db").exists());
}

#[test]
fn damage_to_the_file_is_told_by_audit_and_doctor() {
    const PAGE: u64 = 4096;
    let cli = old_store();
    // An index that only some verbs read.
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'approvals_by_state'";
    let root = Cli::new("sqlite3").run([cli.db().as_os_str(), root.as_ref()]);
    let page: u64 = root.success().stdout.trim().parse().unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(cli.db()).unwrap();
    file.seek(std::io::SeekFrom::Start((page - 1) * PAGE)).unwrap();
    file.write_all(&vec![0xff; usize::try_from(PAGE).unwrap()]).unwrap();
    drop(file);
    let audit = cli.run(["audit", "verify", "--output", "text"]);
    assert!(!audit.fails_with(65).stdout.contains("file: ok"), "{audit}");
    let doctor = cli.run(["doctor"]);
    assert!(doctor.fails_with(65).stdout.contains("BAD  store"), "{doctor}");
}

#[test]
fn what_the_help_says_about_going_back_to_a_backup_works() {
    let cli = old_store();
    let (store, copy) = (cli.db(), cli.scratch().join("copy.db"));
    cli.run(["backup", copy.to_str().unwrap()]).success();
    cli.run(["task", "create", "--title", "later", "--agent", "a", "--request-id", "r"]).success();
    fs::remove_file(cli.scratch().join("writ.db-wal")).ok();
    fs::remove_file(cli.scratch().join("writ.db-shm")).ok();
    fs::copy(&copy, &store).unwrap();
    assert_eq!(cli.run(["task", "list"]).success().json()["data"]["count"], 2);
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn an_export_goes_through_a_pipe_and_comes_back_as_the_same_bytes() {
    let cli = old_store();
    cli.run(["gc"]).success();
    let lines = cli.run(["export"]);
    assert!(lines.success().stdout.starts_with("{\"writ_export\":1,"), "{}", lines.stderr);
    let other = cli.scratch().join("other/writ.db");
    let other = other.to_str().unwrap();
    let imported = cli.call(["import", "-", "--db-path", other]).stdin(lines.stdout.clone()).run();
    imported.success();
    assert_eq!(cli.run(["export", "-", "--db-path", other]).success().stdout, lines.stdout);
    let file = cli.scratch().join("lines.ndjson");
    cli.run(["export", file.to_str().unwrap(), "--db-path", other]).success();
    assert_eq!(fs::read_to_string(&file).unwrap(), lines.stdout);

    let twice = cli.run(["import", file.to_str().unwrap(), "--db-path", other, "--output", "json"]);
    assert_eq!(twice.fails_with(1).json()["error_code"], "WRONG_STATE", "{twice}");
    let cut = &lines.stdout[..lines.stdout.len() / 2];
    let third = cli.scratch().join("third/writ.db");
    let third = third.to_str().unwrap();
    let refused = cli.call(["import", "-", "--db-path", third, "--output", "json"]).stdin(cut).run();
    assert_eq!(refused.fails_with(1).json()["error_code"], "INVALID_INPUT", "{refused}");
    assert_eq!(cli.run(["task", "list", "--db-path", third]).success().json()["data"]["count"], 0);
}

#[test]
fn no_copy_takes_the_place_of_the_stores_own_files() {
    let cli = ann();
    let id = task(&cli, "kept");
    let store = cli.db().display().to_string();
    for ending in ["", "-wal", "-shm", "-journal"] {
        let own = format!("{store}{ending}");
        cli.run(["backup", &own, "--force"]).fails_with(1);
        cli.run(["export", &own, "--force"]).fails_with(1);
    }
    assert_eq!(data(&cli.run(["task", "get", "--id", &id]))["title"], "kept");
}

#[test]
fn gc_removes_old_logs_and_looks_and_says_so() {
    let cli = old_store();
    // From here on the log says too that it is late.
    cli.run(["memory", "set", "--key", "k", "--value", "today"]).success();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let old = ["writ.db.logs/attempt.log", "writ.db.index/hash.idx"];
    let kept = ["writ.db.logs/new.log", "writ.db.logs/notes.txt", "writ.db.index/hash.task.base"];
    for name in old.iter().chain(&kept) {
        let path = cli.scratch().write(name, "x");
        if *name != kept[0] {
            std::fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
    }
    let would = cli.run(["gc", "--dry-run"]);
    assert!(
        would.success().stderr.contains("2 old logs of children and looks at workspaces would be removed")
    );
    assert!(old.iter().chain(&kept).all(|name| cli.scratch().has(name)));
    let done = cli.run(["gc"]);
    assert!(
        done.success().stderr.contains("2 old logs of children and looks at workspaces removed"),
        "{done}"
    );
    assert!(old.iter().all(|name| !cli.scratch().has(name)));
    assert!(kept.iter().all(|name| cli.scratch().has(name)));
}
