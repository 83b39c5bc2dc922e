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

const WAYS: [(&str, fn(&Path)); 4] = [
    ("deleted", |path| fs::remove_file(path).unwrap()),
    ("renamed", |path| fs::rename(path, beside(path, ".old")).unwrap()),
    ("replaced", |path| {
        fs::copy(path, beside(path, ".copy")).unwrap();
        fs::rename(beside(path, ".copy"), path).unwrap();
    }),
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
