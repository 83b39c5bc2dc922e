//! Many writers on one file: they wait for each other, and event numbers have no duplicates and no gaps.

use std::collections::BTreeMap;
use std::sync::Barrier;

use store::{EventFilter, Stream};
use testkit::{SeededIds, TempStore, event};

const WRITERS: u64 = 8;
const EVENTS: usize = 20;

#[test]
fn writers_wait_for_each_other() {
    let temp = TempStore::new();
    let start = Barrier::new(usize::try_from(WRITERS).unwrap());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (temp, start) = (&temp, &start);
            scope.spawn(move || {
                let mut store = temp.open();
                let mut ids = SeededIds::new(writer);
                start.wait();
                for number in 0..EVENTS {
                    // Every second event goes to a stream that all writers share.
                    let own = Stream::Project(format!("p{writer}"));
                    let stream = if number % 2 == 0 { Stream::Store } else { own };
                    let tx = store.begin().expect("a busy store is waited for");
                    tx.append(&stream, event(&mut ids, &temp.now(), &format!("{writer}"))).unwrap();
                    tx.next_number("fencing").unwrap();
                    tx.commit().expect("a commit is never refused for being late");
                }
            });
        }
    });
    let mut store = temp.open();
    let tx = store.begin().unwrap();
    let total = usize::try_from(WRITERS).unwrap() * EVENTS;
    let filter = EventFilter { oldest_first: true, limit: total * 2, ..EventFilter::default() };
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    for (index, event) in tx.events(&filter).unwrap().into_iter().enumerate() {
        assert_eq!(event.id, i64::try_from(index).unwrap() + 1);
        let seq = last.entry(event.stream.clone()).or_default();
        *seq += 1;
        assert_eq!(event.seq, *seq, "{}", event.stream);
    }
    let half = i64::try_from(EVENTS / 2).unwrap();
    let mut expected: BTreeMap<String, i64> = (0..WRITERS).map(|w| (format!("project:p{w}"), half)).collect();
    expected.insert("store".to_owned(), half * 8);
    assert_eq!(last, expected);
    assert_eq!(tx.next_number("fencing").unwrap(), i64::try_from(total).unwrap() + 1);
    let found = tx.verify(None).unwrap();
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn a_reader_sees_a_snapshot_and_does_not_block_writers() {
    let temp = TempStore::new();
    let (mut reading, mut writing) = (temp.open(), temp.open());
    let mut ids = SeededIds::new(1);
    let mut write = |message: &str| {
        let tx = writing.begin().unwrap();
        tx.append(&Stream::Store, event(&mut ids, &temp.now(), message)).unwrap();
        tx.commit().unwrap();
    };
    write("first");
    let filter = EventFilter { limit: 10, ..EventFilter::default() };
    let tx = reading.read().unwrap();
    assert_eq!(tx.events(&filter).unwrap().len(), 1);
    write("second");
    assert_eq!(tx.events(&filter).unwrap().len(), 1);
    drop(tx);
    assert_eq!(reading.read().unwrap().events(&filter).unwrap().len(), 2);
}
