//! Stored answers: found by their key alone, and pruned to a tombstone.

use std::time::Duration;

use contract::domain::request::{Agent, RequestId};
use contract::domain::time::Timestamp;
use serde_json::json;
use store::StoredAnswer;
use testkit::TempStore;

#[test]
fn a_forgotten_answer_leaves_a_tombstone() {
    let temp = TempStore::new();
    let mut store = temp.open();
    let agent = Agent::parse("a").unwrap();
    let request = |number: i64| RequestId::parse(&format!("r{number}")).unwrap();
    let answered = |number: i64, forgotten: bool| StoredAnswer {
        operation: "task.create".to_owned(),
        fingerprint: format!("sha256:{number}"),
        answer: (!forgotten).then(|| json!({"number": number, "share": 0.1})),
    };
    let at = |number: i64| temp.now().at.plus(Duration::from_secs(u64::try_from(number).unwrap()));

    let tx = store.begin().unwrap();
    for number in 0..6 {
        tx.keep_answer(&agent, &request(number), &answered(number, false), at(number)).unwrap();
    }
    tx.commit().unwrap();
    let tx = store.begin().unwrap();
    assert_eq!(tx.forget_answers(Timestamp::from_millis(0), 10).unwrap(), 0, "all of them are younger");
    assert_eq!(tx.forget_answers(at(4), 3).unwrap(), 3, "the oldest, up to the limit");
    assert_eq!(tx.forget_answers(at(4), 3).unwrap(), 1, "none twice, and none that is not older");
    tx.commit().unwrap();

    let tx = store.read().unwrap();
    for number in 0..6 {
        assert_eq!(tx.stored_answer(&agent, &request(number)).unwrap(), Some(answered(number, number < 4)));
    }
    assert_eq!(tx.stored_answer(&agent, &request(6)).unwrap(), None);
    assert_eq!(tx.stored_answer(&Agent::parse("b").unwrap(), &request(0)).unwrap(), None);
}

#[test]
fn a_key_has_one_answer() {
    let temp = TempStore::new();
    let mut store = temp.open();
    let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse("r").unwrap());
    let answered =
        StoredAnswer { operation: "o".to_owned(), fingerprint: "f".to_owned(), answer: Some(json!(1)) };
    let tx = store.begin().unwrap();
    tx.keep_answer(&agent, &request, &answered, temp.now().at).unwrap();
    assert!(tx.keep_answer(&agent, &request, &answered, temp.now().at).is_err());
}

#[test]
fn nobody_can_read_the_id_of_anothers_request_and_the_answer_is_still_found_by_it() {
    let answered =
        StoredAnswer { operation: "o".to_owned(), fingerprint: "f".to_owned(), answer: Some(json!(1)) };
    // As now, and as earlier versions kept it.
    for is_old in [false, true] {
        let (temp, other) = (TempStore::new(), TempStore::new());
        let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse("told-to-nobody").unwrap());
        let mut store = temp.open();
        let tx = store.begin().unwrap();
        tx.keep_answer(&agent, &request, &answered, temp.now().at).unwrap();
        tx.commit().unwrap();
        if is_old {
            let raw = rusqlite::Connection::open(temp.path()).unwrap();
            raw.execute("UPDATE requests SET request_id = 'told-to-nobody'", []).unwrap();
            store.seal_anew_at_next_transaction().unwrap();
            store.begin().unwrap().commit().unwrap();
        }
        assert_eq!(store.read().unwrap().stored_answer(&agent, &request).unwrap().as_ref(), Some(&answered));
        let mut export = Vec::new();
        store.export(&mut export).unwrap();
        let text = String::from_utf8(export.clone()).unwrap();
        assert!(!text.contains("told-to-nobody"), "{text}");
        // What the export has in its place opens nothing.
        let at = text.find("\"request_id\":\"").unwrap() + "\"request_id\":\"".len();
        let shown = RequestId::parse(&text[at..at + "sha256:".len() + 64]).unwrap();
        let mut imported = other.open();
        imported.import(&mut export.as_slice()).unwrap();
        for store in [&mut store, &mut imported] {
            let tx = store.read().unwrap();
            assert_eq!(tx.stored_answer(&agent, &shown).unwrap(), None);
            assert_eq!(tx.stored_answer(&agent, &request).unwrap().as_ref(), Some(&answered));
        }
    }
}
