//! Event numbers: `append` returns the number that readers see.

use store::{EventFilter, Stream};
use testkit::{SeededIds, TempStore, event};

#[test]
fn an_append_returns_the_number_of_its_event() {
    let temp = TempStore::new();
    let mut ids = SeededIds::new(1);
    let mut store = temp.open();
    let tx = store.begin().unwrap();
    let streams = [Stream::Store, Stream::Store, Stream::Project("a".to_owned()), Stream::Store];
    let mut returned = Vec::new();
    for (index, stream) in streams.iter().enumerate() {
        let event = event(&mut ids, &temp.now(), &format!("event {index}"));
        returned.push((tx.append(stream, event).unwrap(), format!("event {index}")));
    }
    tx.commit().unwrap();
    let filter = EventFilter { oldest_first: true, limit: 10, ..EventFilter::default() };
    let listed = store.read().unwrap().events(&filter).unwrap();
    let listed: Vec<(i64, String)> =
        listed.into_iter().map(|event| (event.id, event.record.message)).collect();
    assert_eq!(returned, listed);
}
