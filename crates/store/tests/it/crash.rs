//! A process is killed at any moment: what was acknowledged is stored, and the log is complete.

use std::path::Path;

use contract::domain::time::Clock;
use store::{EventFilter, Store, Stream};
use testkit::{ManualClock, Scratch, SeededIds, event, eventually, rounds};

use crate::child::{Child, Isolation, said, say};

#[test]
fn kill_nine_loses_nothing_that_was_acknowledged() {
    let scratch = Scratch::new();
    let mut chance = SeededIds::new(9);
    let mut acknowledged = 0;
    for round in 0..rounds(8) {
        let child = Child::new(Isolation::None, "commit", scratch.path());
        let running = child.call().spawn();
        // Sometimes before its first line, sometimes in the middle of its work.
        let words = usize::try_from(chance.below(12)).unwrap();
        eventually("the child commits", || said(&running.stdout()).len() >= words);
        let output = running.kill_nine();
        if let Some(last) = said(&output.stdout).last() {
            acknowledged = last.parse().expect("a child says numbers");
        }
        let mut store = Store::open(&scratch.join("writ.db"), ManualClock::new().now().at).unwrap();
        let tx = store.read().unwrap();
        let newest = tx.events(&EventFilter { limit: 1, ..EventFilter::default() }).unwrap();
        let written = newest.first().map_or(0, |event| event.id);
        // One more commit may have succeeded without being acknowledged.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&written),
            "round {round}: {acknowledged} {written}"
        );
        let found = tx.verify(None).unwrap();
        assert!(found.is_clean(), "round {round}: {found:?}");
        assert_eq!(found.events, written, "round {round}");
        acknowledged = written;
    }
    assert!(acknowledged > 0, "no child ever committed");
    let (rounds, operations) = (rounds(8).into(), u64::try_from(acknowledged).unwrap());
    testkit::Storm { rounds, operations, kills: rounds, seed: None }.report();
}

#[test]
fn a_log_that_was_torn_anywhere_opens_to_a_whole_state() {
    let scratch = Scratch::new();
    let (now, path) = (ManualClock::new().now(), scratch.join("writ.db"));
    let mut store = Store::open(&path, now.at).unwrap();
    let mut ids = SeededIds::new(1);
    for _ in 0..8 {
        let tx = store.begin().unwrap();
        for stream in [Stream::Store, Stream::Project("p".to_owned())] {
            tx.append(&stream, event(&mut ids, &now, "one more")).unwrap();
        }
        tx.commit().unwrap();
    }
    // The disk after a power cut: the file, and a part of the write-ahead log.
    let (file, log) = (std::fs::read(&path).unwrap(), std::fs::read(scratch.join("writ.db-wal")).unwrap());
    let mut chance = SeededIds::new(2);
    let mut counts = std::collections::BTreeSet::new();
    for round in 0..rounds(25) {
        let length = usize::try_from(chance.below(log.len() as u64 + 1)).unwrap();
        let torn = scratch.write(format!("{round}/writ.db"), &file);
        scratch.write(format!("{round}/writ.db-wal"), &log[..length]);
        let mut store = Store::open(&torn, now.at).unwrap();
        let found = store.read().unwrap().verify(None).unwrap();
        assert!(found.is_clean(), "{length} bytes: {found:?}");
        assert_eq!(found.events % 2, 0, "{length} bytes: half of a transaction is there");
        counts.insert(found.events);
    }
    assert!(counts.len() > 3, "it was torn in different places: {counts:?}");
}

/// The child's role.
pub(crate) fn commit_forever(place: &Path) {
    let now = ManualClock::new().now();
    let mut store = Store::open(&place.join("writ.db"), now.at).unwrap();
    let mut ids = SeededIds::new(u64::from(std::process::id()));
    loop {
        let tx = store.begin().unwrap();
        let number = tx.append(&Stream::Store, event(&mut ids, &now, "one more")).unwrap();
        tx.commit().unwrap();
        say(&number.to_string());
    }
}
