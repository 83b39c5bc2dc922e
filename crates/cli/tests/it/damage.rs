//! A damaged store: an exit code of its own, never called a bug; what is whole comes out of it; a person seals it anew.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use testkit::{Cli, Output, eventually};

use crate::bad_stores::sqlite;
use crate::decisions::digits;
use crate::documents::{plan, scripted, writ};
use crate::read_back::work;

const DAMAGED: i32 = 65;
/// A store with a run and some tasks.
fn filled() -> Cli {
    let cli = writ();
    for number in 0..20 {
        let (title, request) = (format!("task {number}"), format!("r{number}"));
        cli.run(["task", "create", "--title", &title, "--agent", "ann", "--request-id", &request]).success();
    }
    work(&cli, &plan([scripted("a", "print")])).succeeded();
    cli
}

fn flip(cli: &Cli, at: usize) {
    let mut bytes = fs::read(cli.db()).unwrap();
    bytes[at] ^= 0xff;
    fs::write(cli.db(), bytes).unwrap();
}

/// Calls of all kinds but the agent contract's.
fn calls(cli: &Cli) -> Vec<Output> {
    let calls: [&[&str]; 8] = [
        &["runs", "list"],
        &["trace", "@last"],
        &["audit", "verify"],
        &["audit", "tip"],
        &["backup", "copy.db"],
        &["export", "out.ndjson"],
        &["gc"],
        &["doctor"],
    ];
    calls.iter().map(|words| cli.run([words, &["--output", "json"][..]].concat())).collect()
}

#[test]
fn damage_has_an_exit_code_of_its_own_and_is_never_called_a_bug() {
    let damages: [(&str, fn(&Cli)); 6] = [
        ("the header", |cli| flip(cli, 3)),
        ("the application id", |cli| flip(cli, 70)),
        ("the first page", |cli| flip(cli, 100)),
        ("no table of tasks", |cli| {
            sqlite(&cli.db(), "PRAGMA foreign_keys = OFF; DROP TABLE tasks");
        }),
        ("no table of events", |cli| {
            sqlite(&cli.db(), "DROP TABLE events");
        }),
        ("another type of value", |cli| {
            sqlite(
                &cli.db(),
                "UPDATE runs SET created_at = 'long ago', state = x'00'; UPDATE heads SET seq = 'x'",
            );
        }),
    ];
    for (what, damage) in damages {
        let cli = filled();
        damage(&cli);
        let outputs = calls(&cli);
        let codes: Vec<Option<i32>> = outputs.iter().map(|output| output.status.code()).collect();
        for output in &outputs {
            assert!([Some(0), Some(DAMAGED)].contains(&output.status.code()), "{what}: {output}");
            assert!(!output.stdout.contains("\"BUG\""), "{what}: {output}");
        }
        assert_eq!(codes[2], Some(DAMAGED), "{what}: {}", outputs[2]);
        let contract = cli.run(["task", "list", "--agent", "ann"]);
        assert!(
            contract.status.success() || contract.json()["error_code"] == "CORRUPT",
            "{what}: {contract}"
        );
    }
}

#[test]
fn what_is_whole_comes_out_of_a_damaged_store() {
    const PAGE: usize = 4096;
    let cli = filled();
    let root = sqlite(&cli.db(), "SELECT rootpage FROM sqlite_schema WHERE name = 'tasks_by_status'");
    let at = (root.trim().parse::<usize>().unwrap() - 1) * PAGE;
    let mut bytes = fs::read(cli.db()).unwrap();
    bytes[at..at + PAGE].fill(0xa5);
    bytes[..16].fill(0);
    fs::write(cli.db(), &bytes).unwrap();
    cli.run(["audit", "verify"]).fails_with(DAMAGED);
    let (old, new) = (cli.db(), cli.scratch().join("new.db"));
    let words = ["salvage", old.to_str().unwrap(), "--into", new.to_str().unwrap()];
    let saved = cli.run(words);
    assert!(saved.success().stdout.contains("nothing was lost"), "{saved}");
    assert_eq!(fs::read(cli.db()).unwrap(), bytes, "the damaged store is only read");
    let at_new = ["--db-path", new.to_str().unwrap()];
    let verified = cli.run([&["audit", "verify"][..], &at_new].concat());
    assert!(verified.success().stdout.contains("seal: ok"), "{verified}");
    let tasks = cli.run([&["task", "list", "--limit", "100"][..], &at_new].concat()).success().json();
    assert_eq!(tasks["data"]["count"], 21);
    let again = cli.run(words.iter().chain(&["--output", "json"]));
    assert_eq!(again.fails_with(1).json()["error_code"], "ALREADY_EXISTS", "{again}");
}

#[test]
fn without_the_key_a_store_is_read_and_not_written_and_only_a_person_makes_a_new_one() {
    let cli = filled();
    let key = cli.scratch().join("writ.db.key");
    fs::remove_file(&key).unwrap();
    let verified = cli.run(["audit", "verify"]);
    assert!(verified.success().stdout.contains("seal not checked: the store's key"), "{verified}");
    let doctor = cli.run(["doctor"]);
    assert!(doctor.fails_with(1).stdout.contains("BAD  seal"), "{doctor}");
    assert!(doctor.stdout.contains("BAD  key") && doctor.stdout.contains("is missing"), "{doctor}");
    cli.run(["task", "list"]).success();
    let refused = cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "new"]);
    assert_eq!(refused.fails_with(1).json()["error_code"], "STORE_UNAVAILABLE", "{refused}");
    let hint = refused.json()["suggested_action"].as_str().unwrap().to_owned();
    assert!(hint.contains("writ audit reseal"), "{refused}");
    // There is no person in a test.
    let reseal = cli.run(["audit", "reseal", "--output", "json"]);
    assert_eq!(reseal.fails_with(1).json()["error_code"], "DENIED", "{reseal}");
    assert!(!key.exists());
}

#[test]
fn a_backup_with_its_key_is_whole_where_it_is_restored() {
    let cli = filled();
    let copy = cli.scratch().join("copy.db");
    let made = cli.run(["backup", copy.to_str().unwrap()]);
    assert!(made.success().stdout.contains("copy.db.key: the key, for you alone"), "{made}");
    let verified = cli.run(["audit", "verify", "--db-path", copy.to_str().unwrap()]);
    assert!(verified.success().stdout.contains("seal: ok"), "{verified}");
    let other = cli.scratch().join("other.db");
    let made = cli.run(["backup", other.to_str().unwrap(), "--without-key"]);
    assert!(made.success().stdout.contains("the key is not in it"), "{made}");
    assert!(!cli.scratch().has("other.db.key"));
}

#[test]
fn a_person_at_a_terminal_seals_the_store_anew() {
    let cli = filled();
    let key = cli.scratch().join("writ.db.key");
    fs::remove_file(&key).unwrap();
    for typed in ["000000 ", "DIGITS"] {
        let words = ["audit", "reseal", "--reason", "the key is lost"];
        let mut asked = cli.call(words).env("USER", "eve").on_terminal(200, 40);
        let shown = || digits(&String::from_utf8_lossy(&asked.printed()));
        eventually("the question is asked", || shown().is_some());
        let right = shown().unwrap();
        asked.press(&format!("{}\n", typed.replace("DIGITS", &right)));
        assert_eq!(asked.wait().success(), typed == "DIGITS", "{typed:?}");
        assert_eq!(key.exists(), typed == "DIGITS", "{typed:?}");
    }
    let verified = cli.run(["audit", "verify"]);
    assert!(verified.success().stdout.contains("seal: ok"), "{verified}");
    let sql = "SELECT sender || ' ' || stream FROM events WHERE kind = 'store_resealed'";
    assert_eq!(sqlite(&cli.db(), sql).trim(), "human.eve store");
    cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "new"]).success();
}

#[test]
fn doctor_names_what_is_beside_the_store() {
    let cli = filled();
    let doctor = cli.run(["doctor"]);
    let said = &doctor.success().stdout;
    for expected in
        ["writ.db.key, 32 bytes, mode 0600", "writ.db.logs", "writ.db.index", "none beside the store"]
    {
        assert!(said.contains(expected), "{expected}: {doctor}");
    }
    cli.scratch().write("writ.db.schema5-1.backup", "a backup");
    let key = cli.scratch().join("writ.db.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let doctor = cli.run(["doctor"]);
    let said = &doctor.fails_with(1).stdout;
    assert!(said.contains("BAD  key") && said.contains("has mode 0640: others can use it"), "{doctor}");
    assert!(said.contains("1 file, 0 KiB, beginning with"), "{doctor}");
}
