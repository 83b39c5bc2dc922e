use serde_json::json;

use crate::domain::time::BootTime;
use crate::operator::handoff::bundle::*;

fn now() -> Now {
    let at = Timestamp::parse("2026-01-01T00:01:00Z").unwrap();
    Now { at, boot: BootTime { boot_id: "here".to_owned(), millis: 500 } }
}

#[test]
fn silence_in_the_other_store_counts_and_a_clock_ahead_gains_nothing() {
    let heard = |text: &str| Some(Timestamp::parse(text).unwrap());
    let left = |heard| {
        let lease = lease_left(&now(), 90_000, heard);
        assert_eq!(lease.boot_id, "here");
        lease.until_millis - 500
    };
    assert_eq!(left(None), 90_001);
    assert_eq!(left(heard("2026-01-01T00:00:00Z")), 30_001);
    assert_eq!(left(heard("2026-01-01T00:01:20Z")), 90_001);
    assert!(left(heard("2025-12-31T00:00:00Z")) < 0);
}

#[test]
fn the_first_difference_is_named() {
    let one = json!({"a": [1, {"b": 2}], "c": 3});
    assert_eq!(difference(&one, &one), None);
    let at = |other: Value| difference(&one, &other).unwrap();
    assert_eq!(at(json!({"a": [1, {"b": 3}], "c": 3})), "$.a[1].b");
    assert_eq!(at(json!({"a": [1], "c": 3})), "$.a");
    assert_eq!(at(json!({"a": [1, {"b": 2}]})), "$.c");
}
