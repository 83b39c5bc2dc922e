//! A store whose files are deleted, moved or replaced while it is open commits nothing into them.

use std::fs;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::time::Clock;
use store::{Error, Store, Stream};
use testkit::{ManualClock, Scratch, SeededIds, event};

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn count(path: &Path) -> i64 {
    let mut store = Store::open(path, ManualClock::new().now().at).unwrap();
    store.read().unwrap().events_ever().unwrap()
}

const WAYS: [(&str, fn(&Path)); 6] = [
    ("deleted", |path| fs::remove_file(path).unwrap()),
    ("renamed", |path| fs::rename(path, beside(path, ".old")).unwrap()),
    ("replaced", |path| {
        fs::copy(path, beside(path, ".copy")).unwrap();
        fs::rename(beside(path, ".copy"), path).unwrap();
    }),
    ("moved, with a link in its place", |path| {
        fs::rename(path, beside(path, ".old")).unwrap();
        std::os::unix::fs::symlink(beside(path, ".old"), path).unwrap();
    }),
    ("linked", |path| fs::hard_link(path, beside(path, ".second")).unwrap()),
    ("log deleted", |path| fs::remove_file(beside(path, "-wal")).unwrap()),
];

#[test]
fn a_store_that_lost_its_name_refuses_to_commit_and_can_be_rescued() {
    for (way, swap) in WAYS {
        let scratch = Scratch::new();
        let (path, now) = (scratch.join("writ.db"), ManualClock::new().now());
        let mut store = Store::open(&path, now.at).unwrap();
        let mut ids = SeededIds::new(1);
        let tx = store.begin().unwrap();
        tx.append(&Stream::Store, event(&mut ids, &now, "acknowledged")).unwrap();
        tx.commit().unwrap();
        let tx = store.begin().unwrap();
        tx.append(&Stream::Store, event(&mut ids, &now, "too late")).unwrap();
        swap(&path);
        let error = tx.commit().unwrap_err();
        assert!(matches!(error, Error::Replaced { written: false, .. }), "{way}: {error:?}");
        assert_eq!(error.code(), ErrorCode::StoreReplaced);
        assert!(store.begin().unwrap().commit().is_err(), "{way}: it stays refused");
        let copy = scratch.join("copy.db");
        store.rescue_to(&copy).unwrap();
        drop(store);
        assert_eq!(count(&copy), 1, "{way}");
        let mut copied = Store::open(&copy, now.at).unwrap();
        let found = copied.read().unwrap().verify(None).unwrap();
        assert!(found.is_clean(), "{way}: {found:?}");
    }
}

#[test]
fn a_store_whose_log_is_beside_another_name_is_not_opened_and_gets_no_second_key() {
    let ways: [(&str, fn(&Path), &str); 3] = [
        ("linked", |path| fs::hard_link(path, beside(path, ".second")).unwrap(), ".second"),
        ("linked, by its first name", |path| fs::hard_link(path, beside(path, ".second")).unwrap(), ""),
        (
            "moved, with a link in its place",
            |path| {
                fs::rename(path, beside(path, ".moved")).unwrap();
                std::os::unix::fs::symlink(beside(path, ".moved"), path).unwrap();
            },
            "",
        ),
    ];
    for (way, change, ending) in ways {
        let scratch = Scratch::new();
        let (path, now) = (scratch.join("writ.db"), ManualClock::new().now());
        // A living engine: its log is not yet moved into the file.
        let _living = Store::open(&path, now.at).unwrap();
        change(&path);
        let opened = Store::open(&beside(&path, ending), now.at).map(drop).unwrap_err();
        assert!(matches!(opened, Error::OtherName { .. }), "{way}: {opened:?}");
        assert_eq!(opened.code(), ErrorCode::StoreUnavailable);
        for ending in [".second.key", ".second-wal", ".moved.key", ".moved-wal"] {
            assert!(!beside(&path, ending).exists(), "{way}: {ending}");
        }
    }
}
