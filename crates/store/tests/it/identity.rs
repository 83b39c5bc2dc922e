//! The id of a store: copies keep it, and what makes a new store makes a new id.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use contract::domain::process::StoreFile;
use store::{BackupOptions, Store};
use testkit::{Scratch, SeededIds, TempStore};

fn file_of(path: &Path, temp: &TempStore) -> StoreFile {
    Store::open(path, temp.now().at).unwrap().file().unwrap()
}

#[test]
fn a_store_keeps_its_id_and_a_copy_is_another_file() {
    let temp = TempStore::new();
    let original = temp.open().file().unwrap();
    assert!(original.id.starts_with("store_"), "{original:?}");
    assert_eq!(temp.open().file().unwrap(), original);
    let scratch = Scratch::new();
    let (copied, backed_up) = (scratch.join("copied.db"), scratch.join("backup.db"));
    temp.open().back_up_to(&backed_up, BackupOptions::default()).unwrap();
    std::fs::copy(temp.path(), &copied).unwrap();
    std::fs::copy(store::StoreKey::path_of(&temp.path()), store::StoreKey::path_of(&copied)).unwrap();
    for path in [&copied, &backed_up] {
        let copy = file_of(path, &temp);
        assert_eq!(copy.id, original.id);
        assert!(copy != original && !copy.is_recorded_as(&original), "{copy:?}");
        assert!(Store::open(path, temp.now().at).unwrap().read().unwrap().verify(None).unwrap().is_clean());
    }
    // A restart may give the disk another number.
    assert!(StoreFile { device: original.device + 1, ..original.clone() }.is_recorded_as(&original));
}

#[test]
fn an_import_and_a_salvage_make_a_new_id() {
    let temp = TempStore::new();
    let original = temp.open().file().unwrap();
    let mut export = Vec::new();
    temp.open().export(&mut export).unwrap();
    let other = TempStore::new();
    let before = other.open().file().unwrap();
    other.open().import(&mut export.as_slice()).unwrap();
    assert_eq!(other.open().file().unwrap(), before);
    assert_ne!(before.id, original.id);
    let into = other.scratch().join("salvaged.db");
    store::salvage(&temp.path(), &into, &mut SeededIds::new(1000), temp.now().at).unwrap();
    let salvaged = file_of(&into, &temp);
    assert!(salvaged.id != original.id && salvaged.id != before.id, "{salvaged:?}");
}

#[test]
fn stores_of_earlier_versions_get_an_id_when_they_are_migrated() {
    let stores = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/stores");
    for name in ["0001-f434e81", "0006-3660c20"] {
        let temp = TempStore::new();
        std::fs::copy(format!("{stores}/{name}.db"), temp.path()).unwrap();
        let key = store::StoreKey::path_of(&temp.path());
        if std::fs::copy(format!("{stores}/{name}.key"), &key).is_ok() {
            std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        }
        let first = temp.open().file().unwrap();
        assert_eq!(temp.open().file().unwrap(), first, "{name}");
        let found = temp.open().read().unwrap().verify(None).unwrap();
        assert!(found.is_clean() && found.seal_not_checked.is_none(), "{name}: {found:?}");
    }
}
