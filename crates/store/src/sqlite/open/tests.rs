//! A store with an older schema is copied, then migrated once, no matter how many processes open it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use testkit::Scratch;

use super::*;

/// The store as schema 1 wrote it. A later schema must still open it.
const SCHEMA_1: &str = include_str!("../../../tests/schema1.sql");
const NOW: Timestamp = Timestamp::from_millis(1_767_268_800_000);
/// Schemas that do not exist yet.
const ADDED: &str = "CREATE TABLE added (x INTEGER); INSERT INTO added SELECT count(*) FROM tasks;";
const BROKEN: &str = "CREATE TABLE half (x INTEGER); INSERT INTO nowhere VALUES (1);";

fn next(migration: &'static str) -> Vec<&'static str> {
    let first = &sqlite::MIGRATIONS[..1];
    [first, &[migration]].concat()
}

fn schema_1(path: &Path) {
    Connection::open(path).unwrap().execute_batch(SCHEMA_1).unwrap();
}

fn backups(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains(".schema")).collect();
    found.sort();
    found
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_store_of_schema_1_opens_whole() {
    let scratch = Scratch::new();
    let path = scratch.join("writ.db");
    schema_1(&path);
    let mut store = Store::open(&path, NOW).unwrap();
    let rows = store.rows().unwrap();
    assert_eq!(store.rebuilt().unwrap().rows().unwrap(), rows);
    let found = store.read().unwrap().verify(None).unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert!(found.events >= 10 && !rows.is_empty(), "{found:?}");
}

#[test]
fn an_older_store_is_copied_before_it_is_migrated() {
    let scratch = Scratch::new();
    let path = scratch.join("writ.db");
    schema_1(&path);
    let tasks = |store: &Store| -> String {
        let all = "SELECT group_concat(id || status || version) FROM (SELECT * FROM tasks ORDER BY id)";
        store.connection.query_row(all, [], |row| row.get(0)).unwrap()
    };
    let before = tasks(&Store::open_knowing(&next(ADDED)[..1], &path, NOW).unwrap());
    assert_eq!(backups(&scratch), Vec::<PathBuf>::new(), "nothing was migrated yet");

    let store = Store::open_knowing(&next(ADDED), &path, NOW).unwrap();
    assert!(number(&store.connection, "SELECT x FROM added") > 0);
    assert_eq!(tasks(&store), before);
    drop(store);
    let [backup] = backups(&scratch).try_into().expect("one backup");
    assert_eq!(backup, scratch.join("writ.db.schema1-1767268800000.backup"));
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(tasks(&Store::open_knowing(&next(ADDED)[..1], &backup, NOW).unwrap()), before);

    drop(Store::open_knowing(&next(ADDED), &path, NOW).unwrap());
    assert_eq!(backups(&scratch), [backup], "a store that is up to date is not copied again");
}

#[test]
fn a_migration_that_fails_changes_nothing_and_can_be_tried_again() {
    let scratch = Scratch::new();
    let path = scratch.join("writ.db");
    schema_1(&path);
    for _ in 0..2 {
        let error = Store::open_knowing(&next(BROKEN), &path, NOW).err().expect("it fails");
        assert!(matches!(error, Error::Corrupt(_)), "{error:?}");
        let store = Store::open_knowing(&next(BROKEN)[..1], &path, NOW).unwrap();
        let half = "SELECT count(*) FROM sqlite_master WHERE name = 'half'";
        assert_eq!(number(&store.connection, half), 0);
    }
    assert!(Store::open_knowing(&next(ADDED), &path, NOW).is_ok());
}

#[test]
fn without_a_copy_there_is_no_migration() {
    let scratch = Scratch::new();
    let path = scratch.join("writ.db");
    schema_1(&path);
    // A directory has the name of the copy.
    scratch.dir("writ.db.schema1-1767268800000.backup/full");
    let error = Store::open_knowing(&next(ADDED), &path, NOW).err().expect("it fails");
    assert!(matches!(error, Error::Backup { .. }), "{error:?}");
    assert!(Store::open_knowing(&next(ADDED)[..1], &path, NOW).is_ok(), "it is still schema 1");
}

#[test]
fn concurrent_opens_migrate_an_older_store_once() {
    let scratch = Scratch::new();
    let path = scratch.join("writ.db");
    schema_1(&path);
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for user in 0..8 {
            let (start, path) = (&start, &path);
            scope.spawn(move || {
                start.wait();
                let now = Timestamp::from_millis(NOW.millis() + user);
                Store::open_knowing(&next(ADDED), path, now).unwrap();
            });
        }
    });
    let store = Store::open_knowing(&next(ADDED), &path, NOW).unwrap();
    assert_eq!(number(&store.connection, "SELECT count(*) FROM added"), 1);
    assert_eq!(backups(&scratch).len(), 1);
}

#[test]
fn a_path_that_is_not_text_is_backed_up_beside_itself() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::new();
    let path = scratch.path().join(OsStr::from_bytes(b"w\xffrit.db"));
    schema_1(&path);
    drop(Store::open_knowing(&next(ADDED), &path, NOW).unwrap());
    let backup = beside(&path, ".schema1-1767268800000.backup");
    assert!(backup.is_file());
}

#[test]
fn a_commit_is_on_the_disk_before_it_is_acknowledged() {
    let scratch = Scratch::new();
    let store = Store::open(&scratch.join("writ.db"), NOW).unwrap();
    let pragma = |name: &str| -> String {
        let value: rusqlite::types::Value =
            store.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        format!("{name} {value:?}")
    };
    let full = 2;
    assert_eq!(pragma("synchronous"), format!("synchronous Integer({full})"));
    assert_eq!(pragma("journal_mode"), "journal_mode Text(\"wal\")");
    assert_eq!(pragma("foreign_keys"), "foreign_keys Integer(1)");
}
