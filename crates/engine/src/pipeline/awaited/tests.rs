use std::sync::{Arc, Barrier};

use super::super::layer::Handed;
use super::*;

const TIMEOUT: Duration = Duration::from_mins(1);

fn key(task: usize) -> LayerKey {
    LayerKey { task: Some(task), id: "L5.context.retrieve".to_owned() }
}

fn slow(work: impl Fn(&GiveUp) -> Outcome + Send + Sync + 'static) -> Unsettled {
    *Outcome::decided("ASKED", "elsewhere").wait(work).settle(0).unwrap_err()
}

fn brief(number: u8) -> Handed {
    Handed::Brief(number.to_string())
}

/// Waits until answers have come.
fn arrivals(awaited: &mut Awaited) -> Vec<LayerKey> {
    let mut keys = Vec::new();
    testkit::eventually("an answer", || {
        keys = awaited.arrivals();
        !keys.is_empty()
    });
    keys
}

#[track_caller]
fn ended(awaited: &Awaited, now_ms: i64) -> LayerResult {
    match awaited.look(&key(1), now_ms) {
        AwaitProgress::Ended(result) => result,
        progress @ (AwaitProgress::NotStarted | AwaitProgress::UnderWay) => panic!("{progress:?}"),
    }
}

fn codes(result: &LayerResult) -> Vec<&str> {
    result.decisions.iter().map(|decision| decision.code.as_str()).collect()
}

#[test]
fn an_answer_is_kept_until_it_is_forgotten() {
    let mut awaited = Awaited::new(TIMEOUT);
    assert_eq!(awaited.look(&key(1), 0), AwaitProgress::NotStarted);
    let gate = Arc::new(Barrier::new(2));
    let inside = Arc::clone(&gate);
    let work = move |_: &GiveUp| {
        inside.wait();
        Outcome::decided("FOUND", "it").giving(brief(7))
    };
    awaited.start(&key(1), 0, slow(work));
    assert_eq!(awaited.look(&key(1), 59_999), AwaitProgress::UnderWay);
    assert_eq!(awaited.deadline_ms(Some(1)), Some(60_000));
    gate.wait();
    assert_eq!(arrivals(&mut awaited), [key(1)]);
    for _ in 0..2 {
        let result = ended(&awaited, 70_000);
        assert_eq!((codes(&result), &result.exit), (vec!["ASKED", "FOUND"], &LayerEnd::Continue(brief(7))));
    }
    assert_eq!(awaited.deadline_ms(Some(1)), None);
    awaited.forget(Some(1));
    assert_eq!(awaited.look(&key(1), 0), AwaitProgress::NotStarted);
}

#[test]
fn a_layer_that_does_not_answer_in_time_is_refused() {
    let mut awaited = Awaited::new(TIMEOUT);
    awaited.start(&key(1), 0, slow(|_| panic!("a layer that is broken gives no answer")));
    let result = ended(&awaited, 60_000);
    assert_eq!(codes(&result), ["ASKED", "NO_ANSWER"]);
    let reason = "E_TIMEOUT: L5.context.retrieve did not answer within 1m00s";
    assert_eq!((result.exit, result.timing_ms), (LayerEnd::Refuse(Reason::of_text(reason)), 60_000));
}

#[test]
fn work_that_nobody_waits_for_is_told_and_its_answer_is_dropped() {
    let mut awaited = Awaited::new(TIMEOUT);
    let work = |give_up: &GiveUp| {
        testkit::eventually("the end of the wait", || give_up.is_set());
        Outcome::new().giving(brief(1))
    };
    awaited.start(&key(1), 0, slow(work));
    awaited.forget(Some(1));
    // The same layer is run again before the first answer comes.
    awaited.start(&key(1), 0, slow(|_| Outcome::new().giving(brief(2))));
    assert_eq!(arrivals(&mut awaited), [key(1)]);
    let result = ended(&awaited, 0);
    assert_eq!(result.exit, LayerEnd::Continue(brief(2)));
}

#[test]
fn a_slow_layer_that_waits_again_is_refused() {
    let mut awaited = Awaited::new(TIMEOUT);
    awaited.start(&key(1), 0, slow(|_| Outcome::new().wait(|_| Outcome::new().giving(brief(7)))));
    arrivals(&mut awaited);
    let result = ended(&awaited, 0);
    assert_eq!(codes(&result), ["ASKED", "AWAITED_TWICE"]);
    assert!(matches!(result.exit, LayerEnd::Refuse(_)));
}

#[test]
fn only_so_many_layers_are_under_way() {
    let mut awaited = Awaited::new(TIMEOUT);
    let wait = |give_up: &GiveUp| {
        testkit::eventually("the end of the wait", || give_up.is_set());
        Outcome::new().giving(brief(1))
    };
    for task in 0..=AWAITED_MAX {
        awaited.start(&key(task), 0, slow(wait));
    }
    assert_eq!(awaited.look(&key(AWAITED_MAX - 1), 0), AwaitProgress::UnderWay);
    assert_eq!(awaited.look(&key(AWAITED_MAX), 0), AwaitProgress::NotStarted);
}
