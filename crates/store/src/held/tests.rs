use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Barrier;

use testkit::Scratch;

use super::*;

#[test]
fn leftovers_go_and_what_is_held_or_somebody_elses_stays() {
    let scratch = Scratch::new();
    let start = scratch.join("work-");
    scratch.write("work-0123", "left by a killed process");
    scratch.write("work-dir/inside", "left as well");
    scratch.write("target", "not ours to remove");
    symlink(scratch.join("target"), scratch.join("work-link")).unwrap();
    let held = HeldFile::directory(&start).unwrap();
    assert_eq!(fs::metadata(held.path()).unwrap().permissions().mode() & 0o777, 0o700);
    let other = HeldFile::file(&start).unwrap();
    assert_eq!(fs::metadata(other.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(held.path().is_dir(), "it is held");
    drop((held, other));
    assert_eq!(scratch.names(""), ["target", "work-link"]);
    assert!(HeldFile::file(&scratch.join("nowhere/work-")).is_err());
}

#[test]
fn of_many_at_once_each_gets_its_own() {
    let scratch = Scratch::new();
    let start = scratch.join("work-");
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..50 {
                    let held = HeldFile::file(&start).unwrap();
                    assert!(held.path().is_file(), "nobody took it for a leftover");
                }
            });
        }
    });
    assert_eq!(scratch.names(""), Vec::<String>::new());
}
