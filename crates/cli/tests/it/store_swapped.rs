//! The store of a working engine is deleted, moved or replaced: the engine notices it before the next commit, saves what it
//! knows, and says how to go on.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Cli, eventually};

use crate::documents::writ;
use crate::run_view::{RunView, all_gone, file, write_plan};

/// The first task is done when the store is taken away; the second ends after that.
const PLAN: &str = r#"
objective = "Two lines"
workspace = "."

[[task]]
id = "first"
command = "echo first >> order.txt"
shell = true

[[task]]
id = "second"
command = "touch begun; until [ -e go ]; do sleep 0.01; done; echo second >> order.txt"
shell = true
depends_on = ["first"]
retry_safe = true
"#;

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

/// Ways to take the store at this path away from the engine.
const WAYS: [(&str, fn(&Path)); 10] = [
    ("deleted", |db| {
        for ending in ["", "-wal", "-shm"] {
            fs::remove_file(beside(db, ending)).unwrap();
        }
    }),
    ("renamed", |db| fs::rename(db, beside(db, ".old")).unwrap()),
    ("replaced by another store", |db| fs::rename(beside(db, ".other"), db).unwrap()),
    ("replaced by an older backup", |db| fs::rename(beside(db, ".backup"), db).unwrap()),
    ("its directory moved", |db| {
        let directory = db.parent().unwrap();
        fs::rename(directory, beside(directory, ".old")).unwrap();
    }),
    ("its link led elsewhere", |db| {
        fs::remove_file(db).unwrap();
        std::os::unix::fs::symlink(beside(db, ".other"), db).unwrap();
    }),
    ("moved, with a link in its place", |db| {
        fs::rename(db, beside(db, ".moved")).unwrap();
        std::os::unix::fs::symlink(beside(db, ".moved"), db).unwrap();
    }),
    ("given a second name", |db| fs::hard_link(db, beside(db, ".second")).unwrap()),
    ("its log deleted", |db| fs::remove_file(beside(&fs::canonicalize(db).unwrap(), "-wal")).unwrap()),
    ("its index deleted", |db| fs::remove_file(beside(&fs::canonicalize(db).unwrap(), "-shm")).unwrap()),
];

/// A store, another one and a backup of it, at the place that the variable names.
fn prepare(way: &str) -> (Cli, PathBuf) {
    let cli = writ();
    let directory = cli.scratch().dir("data");
    let db = directory.join("writ.db");
    let made = if way.starts_with("its link") { directory.join("real.db") } else { db.clone() };
    let cli = cli.env("WRIT_DB", db.to_str().unwrap());
    let task = |title: &str, db: &Path| {
        let words = ["task", "create", "--title", title, "--agent", "ann", "--request-id", title];
        cli.call(words).env("WRIT_DB", db).run().success();
    };
    task("before", &made);
    if made != db {
        std::os::unix::fs::symlink(&made, &db).unwrap();
    }
    fs::copy(&db, beside(&db, ".backup")).unwrap();
    task("elsewhere", &beside(&db, ".other"));
    task("after", &db);
    write_plan(&cli, PLAN);
    (cli, db)
}

#[test]
fn a_store_that_is_taken_from_a_working_engine_loses_nothing_and_can_be_brought_back() {
    for (way, swap) in WAYS {
        let (cli, db) = prepare(way);
        let writ = cli.spawn(["run", "plan.toml", "--output", "json"]);
        eventually("the second task works", || cli.project().join("begun").exists());
        swap(&db);
        fs::write(cli.project().join("go"), "").unwrap();
        let output = writ.wait();
        let said = output.fails_with(1).json();
        assert_eq!(said["error_code"], "STORE_REPLACED", "{way}: {output}");
        all_gone(&cli);
        let copy = said["error_context"]["rescued"].as_str().unwrap_or_else(|| panic!("{way}: {output}"));
        let run = said["error_context"]["run"].as_str().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(copy).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{way}");
        // As the message says: first with the copy where it is, then in the old place.
        let action = said["suggested_action"].as_str().unwrap();
        let go_on = format!("writ run --continue {run} --db-path {copy}");
        assert!(action.contains(&go_on), "{way}: {action}");
        cli.run(["run", "--continue", run, "--db-path", copy]).success();
        assert_eq!(file(&cli, "order.txt"), "first\nsecond\n", "{way}: nothing is repeated");
        let restore = action.split('`').nth(3).unwrap();
        let restored = cli.call(["-c", restore]).program("sh").run();
        restored.success();
        let view = RunView::of(&cli, run);
        assert_eq!(view.statuses(), ["done, claimed", "done, claimed"], "{way}: {view:?}");
        assert_eq!(view.state, "done", "{way}");
        let titles = cli.run(["task", "list", "--agent", "ann", "--output", "json"]).success().stdout.clone();
        assert!(titles.contains("before") && titles.contains("after"), "{way}: {titles}");
        assert!(!titles.contains("elsewhere"), "{way}: {titles}");
        cli.run(["audit", "verify"]).success();
    }
}

#[test]
fn soak_a_write_lock_that_is_held_longer_than_the_lease_ends_no_child() {
    let cli = writ();
    write_plan(&cli, PLAN);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the second task works", || cli.project().join("begun").exists());
    let hold = ".shell touch locked; until [ -e unlock ]; do sleep 0.05; done";
    let db = cli.db();
    let words = [db.to_str().unwrap(), "BEGIN IMMEDIATE", hold, "COMMIT"];
    let holder = cli.call(words).program("sqlite3").spawn();
    eventually("the store is locked", || cli.project().join("locked").exists());
    let waits = "holds the store's write lock";
    eventually("the engine says that it waits", || writ.stderr().contains(waits));
    let lease = contract::domain::limits::OWNER_LEASE + contract::domain::limits::BUSY_WAIT_MAX / 10;
    let locked = std::time::Instant::now();
    eventually("the lease has passed", || locked.elapsed() > lease);
    fs::write(cli.project().join("unlock"), "").unwrap();
    holder.wait().success();
    fs::write(cli.project().join("go"), "").unwrap();
    writ.wait().success();
    let view = RunView::only(&cli).unwrap();
    assert_eq!(view.statuses(), ["done, claimed", "done, claimed"], "{view:?}");
    assert_eq!(view.task("second").attempts(), ["succeeded"], "{view:?}");
    assert_eq!(file(&cli, "order.txt"), "first\nsecond\n");
    testkit::Storm { rounds: 1, operations: 1, ..testkit::Storm::default() }.report();
}
