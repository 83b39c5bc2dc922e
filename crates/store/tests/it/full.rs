//! A full disk: an error that says so, nothing partly written, and the same write works once there is space.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use contract::domain::time::{Clock, Now};
use store::{Error, EventFilter, Store, Stream};
use testkit::{ManualClock, SeededIds, event};

use crate::child::{Child, Isolation, said, say};

#[test]
fn a_full_disk_is_reported_and_leaves_nothing_partly_written() {
    let scratch = testkit::Scratch::new();
    let child = Child::new(Isolation::OnSmallDisk, "fill", &scratch.dir("disk"));
    let output = child.call().run();
    assert_eq!(said(&output.success().stdout), ["done"], "{output}");
    assert!(!scratch.has("disk/writ.db"), "the small disk was mounted");
}

/// The child's role, with its own disk of one mebibyte.
pub(crate) fn fill_and_free(disk: &Path) {
    let now = ManualClock::new().now();
    let path = disk.join("writ.db");
    let ballast = disk.join("ballast");

    fill(&ballast);
    let refused = Store::open(&path, now.at).err().expect("there is no room for a store");
    assert!(matches!(refused, Error::Full), "{refused:?}");
    std::fs::remove_file(&ballast).unwrap();
    let mut store = Store::open(&path, now.at).expect("now there is");

    write(&mut store, &now, 1).expect("there is room for one event");
    let before = state(&mut store);
    fill(&ballast);
    for _ in 0..3 {
        let refused = write(&mut store, &now, 2).expect_err("there is no room for another");
        assert!(matches!(refused, Error::Full), "{refused:?}");
        assert_eq!(state(&mut store), before);
    }
    drop(store);
    let mut store = Store::open(&path, now.at).expect("a full disk can be read");
    assert_eq!(state(&mut store), before);

    std::fs::remove_file(&ballast).unwrap();
    write(&mut store, &now, 2).expect("there is room again");
    assert_eq!(state(&mut store), ["1 event 1", "2 event 2", "clean"]);
    say("done");
}

fn fill(ballast: &Path) {
    let mut file = File::create(ballast).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// Writes an event that does not fit into the free part of a page.
fn write(store: &mut Store, now: &Now, number: u64) -> store::Result<i64> {
    let tx = store.begin()?;
    let mut event = event(&mut SeededIds::new(number), now, &format!("event {number}"));
    event.payload = serde_json::json!("x".repeat(60_000));
    let number = tx.append(&Stream::Store, event)?;
    tx.commit()?;
    Ok(number)
}

fn state(store: &mut Store) -> Vec<String> {
    let tx = store.read().unwrap();
    let filter = EventFilter { oldest_first: true, limit: 10, ..EventFilter::default() };
    let events = tx.events(&filter).unwrap();
    let mut lines: Vec<String> =
        events.iter().map(|event| format!("{} {}", event.id, event.record.message)).collect();
    let found = tx.verify(None).unwrap();
    lines.push(if found.is_clean() { "clean".to_owned() } else { format!("{found:?}") });
    lines
}
