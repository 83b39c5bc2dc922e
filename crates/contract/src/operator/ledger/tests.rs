use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::status::Status;
use crate::operator::delta::Intent;

/// Deltas that can mostly be applied: few tasks, few ids, every state.
fn delta() -> impl Strategy<Value = Delta> {
    let status = prop::sample::select(Status::ALL.to_vec());
    let intent = prop_oneof![Just(None), Just(Some(Intent::Create)), Just(Some(Intent::Update))];
    let expected = prop_oneof![4 => Just(None), 1 => (-1..4i64).prop_map(Some)];
    let heartbeat =
        prop_oneof![Just(None), (0..60u8).prop_map(|s| Some(format!("2026-02-14T20:00:{s:02}Z")))];
    (0..3u8, status, 0..2u8, 0..6u8, (intent, expected, heartbeat)).prop_map(
        |(task, status, owner, name, (x_intent, x_expected_version, last_heartbeat_at))| Delta {
            owner: ["", "w1"][usize::from(owner)].to_owned(),
            reason: "r".to_owned(),
            delta_id: format!("d{name}"),
            last_heartbeat_at,
            x_intent,
            x_expected_version,
            ..Delta::blank(TaskRef::parse(&format!("T-{task}")).unwrap(), status)
        },
    )
}

fn stream() -> impl Strategy<Value = Vec<Delta>> {
    prop::collection::vec(delta(), 0..6)
}

/// A ledger with two tasks, one of which depends on the other, after some streams.
fn ledger(streams: &[Vec<Delta>]) -> Ledger {
    let mut ledger: Ledger = serde_json::from_value(json!({
        "version": 0,
        "applied": [],
        "rows": {
            "T-0": {"status": "todo", "version": 0},
            "T-1": {"status": "todo", "version": 0, "dependencies": ["T-0"]},
        },
    }))
    .unwrap();
    for stream in streams {
        // Whether it is refused does not matter here.
        ledger.apply(stream, DeltaOptions::default()).ok();
    }
    ledger
}

proptest! {
    #[test]
    fn a_refused_envelope_changes_nothing(before in prop::collection::vec(stream(), 0..4), stream in stream()) {
        let mut ledger = ledger(&before);
        let untouched = ledger.clone();
        match ledger.apply(&stream, DeltaOptions::default()) {
            Err(refusal) => {
                prop_assert!(!refusal.allow);
                prop_assert!(refusal.details.more.contains_key("index"));
                prop_assert_eq!(ledger, untouched);
            }
            Ok(ignored) => {
                let applied = u64::try_from(stream.len() - ignored.len()).unwrap();
                prop_assert_eq!(ledger.version, untouched.version + applied);
            }
        }
    }

    #[test]
    fn an_envelope_that_comes_twice_is_applied_once(
        before in prop::collection::vec(stream(), 0..4), stream in stream(),
    ) {
        let mut ledger = ledger(&before);
        if ledger.apply(&stream, DeltaOptions::default()).is_ok() {
            let once = ledger.clone();
            let ignored = ledger.apply(&stream, DeltaOptions::default()).unwrap();
            prop_assert_eq!(ignored.len(), stream.len());
            prop_assert_eq!(ledger, once);
        }
    }

    #[test]
    fn the_state_machine_and_the_gates_hold_whatever_comes(streams in prop::collection::vec(stream(), 0..8)) {
        let ledger = ledger(&streams);
        for row in ledger.rows.values() {
            prop_assert!(row.status != Status::InProgress || !row.owner.is_empty());
        }
        let status = |task: &str| ledger.rows[&TaskRef::parse(task).unwrap()].status;
        let begun = matches!(status("T-1"), Status::InProgress | Status::Done);
        prop_assert!(!begun || status("T-0") == Status::Done);
        prop_assert_eq!(u64::try_from(ledger.applied.len()).unwrap(), ledger.version);
    }

    #[test]
    fn a_ledger_that_is_stored_and_read_is_the_same(streams in prop::collection::vec(stream(), 0..4)) {
        let ledger = ledger(&streams);
        let stored = serde_json::to_string(&ledger).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&stored).unwrap(), ledger);
    }
}
