//! Opening creates a store on first use, readable by the user only, and refuses files of other programs unchanged.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;

use contract::domain::code::ErrorCode;
use contract::domain::time::Clock;
use rusqlite::Connection;
use store::{Error, Store, Stream};
use testkit::{ManualClock, Scratch, SeededIds, TempStore, event};

use crate::child::{Child, Isolation, said, say};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file in the directory with its bytes.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[track_caller]
fn refused(path: &Path) -> Error {
    Store::open(path, ManualClock::new().now().at).err().expect("it is not opened")
}

/// The code and the beginning of the hint.
fn told(error: &Error) -> (ErrorCode, &'static str) {
    (error.code(), error.hint().unwrap_or("").split_inclusive(&[',', ';']).next().unwrap_or(""))
}

type Prepare = fn(&Scratch);

const OTHER_FILE: &str = "choose another file with --db-path or WRIT_DB;";
const PERMISSIONS: &str = "check the permissions,";

#[test]
fn a_new_store_is_for_its_user_alone() {
    let scratch = Scratch::new();
    let path = scratch.join("data/writ/writ.db");
    let mut store = Store::open(&path, ManualClock::new().now().at).unwrap();
    let tx = store.begin().unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(1), &ManualClock::new().now(), "first")).unwrap();
    tx.commit().unwrap();
    let modes: Vec<String> = ["data", "data/writ", "data/writ/writ.db", "data/writ/writ.db-wal"]
        .iter()
        .map(|inside| format!("{inside} {:o}", mode(&scratch.join(inside))))
        .collect();
    assert_eq!(modes, ["data 700", "data/writ 700", "data/writ/writ.db 600", "data/writ/writ.db-wal 600"]);
}

#[test]
fn an_empty_file_becomes_a_store_and_keeps_its_permissions() {
    let scratch = Scratch::new();
    let path = scratch.write("writ.db", "");
    set_mode(&path, 0o640);
    Store::open(&path, ManualClock::new().now().at).unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_relative_path_is_enough() {
    let scratch = Scratch::new();
    // Go up from the working directory and down again: all tests of this process share the working directory.
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let path = Path::new(&up).join(scratch.path().strip_prefix("/").unwrap()).join("writ.db");
    assert!(path.is_relative());
    Store::open(&path, ManualClock::new().now().at).unwrap();
    assert!(scratch.has("writ.db"));
}

#[test]
fn another_programs_database_is_refused_untouched() {
    let table = "CREATE TABLE mine (x); INSERT INTO mine VALUES (1);";
    let cases = [
        ("tables", table.to_owned()),
        ("tables in a log", format!("PRAGMA journal_mode = WAL; {table}")),
        ("a schema number", "PRAGMA user_version = 7;".to_owned()),
        ("an application id", "PRAGMA application_id = 7;".to_owned()),
    ];
    for (what, sql) in cases {
        let scratch = Scratch::new();
        let path = scratch.join("other.db");
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
        let before = files(scratch.path());
        let error = refused(&path);
        assert!(matches!(error, Error::Foreign { .. }), "{what}: {error:?}");
        assert_eq!(told(&error), (ErrorCode::ForeignStore, OTHER_FILE), "{what}");
        assert_eq!(files(scratch.path()), before, "{what}");
    }
}

#[test]
fn another_programs_log_is_not_moved_into_its_database() {
    let scratch = Scratch::new();
    let (path, crashed) = (scratch.join("other.db"), scratch.dir("crashed"));
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x);").unwrap();
    // The files after the other program was killed: the log has changes that the database does not have.
    for name in ["other.db", "other.db-wal"] {
        std::fs::copy(scratch.join(name), crashed.join(name)).unwrap();
    }
    let before = files(&crashed);
    assert!(matches!(refused(&crashed.join("other.db")), Error::Foreign { .. }));
    let mut after = files(&crashed);
    after.retain(|(name, _)| !name.ends_with("-shm"));
    assert!(after == before, "the other program's files were changed");
}

#[test]
fn a_file_that_is_not_a_database_is_refused_unchanged() {
    let long = "no database\n".repeat(1000);
    for bytes in ["x", "no database\n", &long] {
        let scratch = Scratch::new();
        let path = scratch.write("notes.txt", bytes);
        let error = refused(&path);
        assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
        assert_eq!(told(&error), (ErrorCode::ForeignStore, OTHER_FILE));
        assert_eq!(files(scratch.path()), [("notes.txt".to_owned(), bytes.as_bytes().to_vec())]);
    }
}

#[test]
fn a_directory_is_not_a_store() {
    let scratch = Scratch::new();
    let path = scratch.dir("writ.db");
    let error = refused(&path);
    assert!(matches!(error, Error::Open { .. }), "{error:?}");
    assert_eq!(told(&error), (ErrorCode::StoreUnavailable, PERMISSIONS));
    let below_a_file = scratch.write("file", "").join("writ.db");
    let error = refused(&below_a_file);
    assert!(matches!(error, Error::Directory { .. }), "{error:?}");
    assert_eq!(told(&error), (ErrorCode::StoreUnavailable, PERMISSIONS));
}

#[test]
fn a_newer_store_is_not_written_to() {
    let temp = TempStore::new();
    drop(temp.open());
    let raw = Connection::open(temp.path()).unwrap();
    let known: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    raw.pragma_update(None, "user_version", known + 1).unwrap();
    drop(raw);
    let before = files(temp.scratch().path());
    let error = refused(&temp.path());
    assert!(matches!(error, Error::Newer { found, known: k } if found == known + 1 && k == known));
    assert_eq!(told(&error), (ErrorCode::NewerStore, "use the newer version of writ,"));
    assert_eq!(files(temp.scratch().path()), before);
}

#[test]
fn an_impossible_schema_version_is_damage() {
    for schema in [0, -1, i64::from(i32::MIN)] {
        let temp = TempStore::new();
        drop(temp.open());
        Connection::open(temp.path()).unwrap().pragma_update(None, "user_version", schema).unwrap();
        let before = files(temp.scratch().path());
        let error = refused(&temp.path());
        assert_eq!(error.to_string(), format!("the store is damaged: its schema version is {schema}"));
        assert_eq!(files(temp.scratch().path()), before);
    }
}

#[test]
fn a_damaged_file_is_named_damaged() {
    let temp = TempStore::new();
    drop(temp.open());
    let mut bytes = std::fs::read(temp.path()).unwrap();
    bytes[100..4096].fill(0xff);
    std::fs::write(temp.path(), bytes).unwrap();
    let mut store = match Store::open(&temp.path(), temp.now().at) {
        Ok(store) => store,
        Err(error) => return assert_eq!(error.code(), ErrorCode::Corrupt, "{error:?}"),
    };
    let error = store.rows().expect_err("no table can be found");
    assert_eq!(error.code(), ErrorCode::Corrupt, "{error:?}");
}

#[test]
fn verification_reports_damage_to_any_page() {
    const PAGE: usize = 4096;
    let temp = TempStore::new();
    drop(temp.open());
    let whole = std::fs::read(temp.path()).unwrap();
    assert!(temp.open().read().unwrap().verify(None).unwrap().is_clean());
    for page in 1..whole.len() / PAGE {
        let mut bytes = whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0xff);
        std::fs::write(temp.path(), bytes).unwrap();
        let found = Store::open(&temp.path(), temp.now().at)
            .and_then(|mut store| store.read().and_then(|tx| tx.verify(None)));
        match found {
            Ok(found) => assert!(!found.damage.is_empty() && !found.is_clean(), "page {page}: {found:?}"),
            Err(error) => assert_eq!(error.code(), ErrorCode::Corrupt, "page {page}: {error:?}"),
        }
    }
}

#[test]
fn a_store_that_is_not_in_log_mode_is_brought_back_to_it() {
    let temp = TempStore::new();
    drop(temp.open());
    let raw = Connection::open(temp.path()).unwrap();
    let mode = |raw: &Connection| -> String {
        raw.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
    };
    raw.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    assert_eq!(mode(&raw), "delete");
    drop(raw);
    drop(temp.open());
    assert_eq!(mode(&Connection::open(temp.path()).unwrap()), "wal");
}

/// A store whose header says this schema, and which cannot be written.
fn of_schema(scratch: &Scratch, schema: i64) {
    let path = scratch.join("locked/data/writ.db");
    drop(Store::open(&path, ManualClock::new().now().at).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", schema).unwrap();
    set_mode(&path, 0o400);
    set_mode(&scratch.join("locked/data"), 0o500);
}

#[test]
fn permissions_that_forbid_writing_are_named_and_nothing_is_changed() {
    let unavailable = format!("STORE_UNAVAILABLE {PERMISSIONS}");
    let cases: [(&str, Prepare, [String; 2]); 6] = [
        (
            "an older store cannot be migrated",
            |scratch| of_schema(scratch, 5),
            [
                "open OlderReadOnly STORE_UNAVAILABLE copy the store and its key to a disk that can be written,"
                    .to_owned(),
                String::new(),
            ],
        ),
        (
            "a newer store is not taken for an unreadable one",
            |scratch| of_schema(scratch, 1000),
            ["open Newer NEWER_STORE use the newer version of writ,".to_owned(), String::new()],
        ),
        (
            "the directory cannot be created",
            |scratch| set_mode(&scratch.dir("locked"), 0o500),
            [format!("open Directory {unavailable}"), String::new()],
        ),
        (
            "the file cannot be created",
            |scratch| set_mode(&scratch.dir("locked/data"), 0o500),
            [format!("open File {unavailable}"), String::new()],
        ),
        (
            "the log cannot be created",
            |scratch| {
                drop(Store::open(&scratch.join("locked/data/writ.db"), ManualClock::new().now().at).unwrap());
                set_mode(&scratch.join("locked/data"), 0o500);
            },
            ["open ok".to_owned(), format!("write ReadOnly {unavailable}")],
        ),
        (
            "the file cannot be written",
            |scratch| {
                let path = scratch.join("locked/data/writ.db");
                drop(Store::open(&path, ManualClock::new().now().at).unwrap());
                set_mode(&path, 0o400);
            },
            ["open ok".to_owned(), format!("write ReadOnly {unavailable}")],
        ),
    ];
    for (what, prepare, expected) in cases {
        let scratch = Scratch::new();
        let place = scratch.join("locked/data");
        prepare(&scratch);
        let before = if place.is_dir() { files(&place) } else { Vec::new() };
        let output = Child::new(Isolation::Unprivileged, "open", &place).call().run();
        let expected: Vec<&str> =
            expected.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        assert_eq!(said(&output.success().stdout), expected, "{what}: {output}");
        if place.is_dir() {
            // An empty log may remain beside a file that is readable but not writable.
            let mut after = files(&place);
            after.retain(|(name, bytes)| !name.ends_with("-shm") && !bytes.is_empty());
            assert!(after == before, "{what}: something was written");
        }
        for locked in ["locked", "locked/data"] {
            if scratch.has(locked) {
                set_mode(&scratch.join(locked), 0o700);
            }
        }
    }
}

#[test]
fn a_store_on_a_read_only_disk_is_read_and_not_changed() {
    for exists in [false, true] {
        let scratch = Scratch::new();
        let place = scratch.dir("disk");
        if exists {
            drop(Store::open(&place.join("writ.db"), ManualClock::new().now().at).unwrap());
        }
        let before = files(&place);
        let output = Child::new(Isolation::OnReadOnlyDisk, "open", &place).call().run();
        let refused = format!("STORE_UNAVAILABLE {PERMISSIONS}");
        let expected = if exists {
            vec!["open ok".to_owned(), format!("write ReadOnly {refused}")]
        } else {
            vec![format!("open File {refused}")]
        };
        assert_eq!(said(&output.success().stdout), expected, "{output}");
        assert!(files(&place) == before, "something was written");
    }
}

/// The child's role: opens, then writes, and prints how far it got.
pub(crate) fn report_open_and_write(place: &Path) {
    let now = ManualClock::new().now();
    let tell = |step: &str, error: &Error| {
        let name = format!("{error:?}");
        let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let (code, hint) = told(error);
        say(&format!("{step} {name} {code} {hint}"));
    };
    let mut store = match Store::open(&place.join("writ.db"), now.at) {
        Ok(store) => store,
        Err(error) => return tell("open", &error),
    };
    say("open ok");
    let written = store.begin().and_then(|tx| {
        tx.append(&Stream::Store, event(&mut SeededIds::new(1), &now, "first"))?;
        tx.commit()
    });
    match written {
        Ok(()) => say("write ok"),
        Err(error) => tell("write", &error),
    }
}

#[test]
fn sixteen_threads_make_one_store_together() {
    for _ in 0..testkit::rounds(4) {
        let temp = TempStore::new();
        let start = Barrier::new(16);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    start.wait();
                    temp.open();
                });
            }
        });
        assert_eq!(temp.open().rows().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn sixteen_processes_make_one_store_together() {
    let scratch = Scratch::new();
    let children: Vec<Child> =
        (0..16).map(|_| Child::new(Isolation::None, "open together", scratch.path())).collect();
    let mut running: Vec<_> = children.iter().map(|child| child.call().open_stdin().spawn()).collect();
    for child in &running {
        testkit::eventually("the child is ready", || said(&child.stdout()).contains(&"ready"));
    }
    for child in &mut running {
        child.send("now");
    }
    for child in running {
        let output = child.wait();
        assert_eq!(said(&output.success().stdout), ["ready", "open"], "{output}");
    }
}

/// The child's role: opens the store on a signal.
pub(crate) fn open_on_signal(place: &Path) {
    say("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    Store::open(&place.join("writ.db"), ManualClock::new().now().at).unwrap();
    say("open");
}
