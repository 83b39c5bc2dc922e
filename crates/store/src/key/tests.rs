use std::os::unix::fs::{PermissionsExt, symlink};

use testkit::Scratch;

use super::*;

fn store() -> (Scratch, PathBuf) {
    let dir = Scratch::new();
    let store = dir.path().join("s.db");
    fs::write(&store, "").unwrap();
    (dir, store)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_key_is_made_once_is_private_and_stays_the_same() {
    let (_dir, store) = store();
    assert!(StoreKey::load(&store).unwrap().is_none());
    let made = StoreKey::load_or_make(&store).unwrap();
    let path = StoreKey::path_of(&store);
    assert_eq!((mode(&path), fs::metadata(&path).unwrap().len()), (0o600, 32));
    let again = StoreKey::load_or_make(&store).unwrap();
    assert_eq!(made.mac("test", &[b"a"]), again.mac("test", &[b"a"]));
    assert_eq!(fs::read_dir(store.parent().unwrap()).unwrap().count(), 2, "no part is left");
}

#[test]
fn processes_that_make_a_key_at_the_same_time_get_the_same_one() {
    let (_dir, store) = store();
    let made: Vec<String> = std::thread::scope(|scope| {
        let make = || StoreKey::load_or_make(&store).unwrap().mac("test", &[]);
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
    // What another process made meanwhile wins.
    let other = store.with_file_name("other.db");
    fs::write(&other, "").unwrap();
    make(&StoreKey::path_of(&other)).unwrap();
    let before = fs::read(StoreKey::path_of(&other)).unwrap();
    make(&StoreKey::path_of(&other)).unwrap();
    assert_eq!(fs::read(StoreKey::path_of(&other)).unwrap(), before);
}

#[test]
fn a_key_that_others_could_use_or_that_is_not_one_is_refused() {
    let (_dir, store) = store();
    StoreKey::load_or_make(&store).unwrap();
    let path = StoreKey::path_of(&store);
    let problem = || match StoreKey::load(&store) {
        Err(Error::Key { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    for bad in [0o640, 0o604, 0o610, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bad)).unwrap();
        assert_eq!(problem(), format!("has mode {bad:04o}: others can use it"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "short").unwrap();
    assert_eq!(problem(), "has 5 bytes instead of 32");
    let elsewhere = store.with_file_name("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(problem(), "is a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(problem(), "is not a regular file");
}

#[test]
fn a_link_to_a_store_has_the_key_of_the_store() {
    let (_dir, store) = store();
    let link = store.with_file_name("link.db");
    symlink(&store, &link).unwrap();
    let real = fs::canonicalize(store.parent().unwrap()).unwrap().join("s.db.key");
    assert_eq!(StoreKey::path_of(&link), real);
}

#[test]
fn a_mac_depends_on_key_purpose_and_the_borders_of_its_parts() {
    let key = StoreKey::from_bytes(&[7; 32]);
    let mac = key.mac("token", &[b"ab", b"c"]);
    assert!(key.is_mac(&mac, "token", &[b"ab", b"c"]));
    let others = [
        key.mac("token", &[b"a", b"bc"]),
        key.mac("token", &[b"abc"]),
        key.mac("head", &[b"ab", b"c"]),
        StoreKey::from_bytes(&[8; 32]).mac("token", &[b"ab", b"c"]),
    ];
    for other in &others {
        assert_ne!(*other, mac);
        assert!(!key.is_mac(other, "token", &[b"ab", b"c"]));
    }
    assert!(!key.is_mac("", "token", &[b"ab", b"c"]));
    assert_eq!(format!("{key:?}"), "StoreKey(…)");
}

#[test]
fn the_mac_is_the_published_one() {
    // RFC 4231, test case 2, through the same crate.
    let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
    mac.update(b"what do ya want for nothing?");
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(hex(&mac.finalize().into_bytes()), expected);
    assert_eq!(unhex(expected).map(|bytes| hex(&bytes)).as_deref(), Some(expected));
}
