use contract::domain::time::Timestamp;
use testkit::Scratch;

use super::*;
use crate::Store;

#[test]
fn a_store_is_recognized_by_its_header_and_other_files_are_not() {
    let dir = Scratch::new();
    let path = dir.join("writ.db");
    drop(Store::open(&path, Timestamp::from_millis(1)).expect("a new store"));
    assert!(is_store(&path).expect("a readable file"));
    let other = dir.join("other.db");
    for text in ["", "hello", "SQLite format 3\0"] {
        fs::write(&other, text).expect("a writable directory");
        assert!(!is_store(&other).expect("a readable file"), "{text:?}");
    }
    assert!(is_store(&dir.join("missing.db")).is_err());
}

#[test]
fn only_files_of_the_store_are_listed() {
    let dir = Scratch::new();
    let names = [
        "writ.db",
        "writ.db-shm",
        "writ.db-wal",
        "writ.db.schema3-17.backup",
        "writ.db.schema3-18.backup.part",
        "writ.db.schema3.toml",
        "writ.db.schema-x.backup",
        "other.db",
        "writ.db.bak",
    ];
    for name in names {
        dir.write(name, "");
    }
    let found = files_of(&dir.join("writ.db")).expect("a readable directory");
    let mut found: Vec<&str> =
        found.iter().filter_map(|path| path.file_name().and_then(|name| name.to_str())).collect();
    found.sort_unstable();
    assert_eq!(found, names[..5]);
}
