//! Clocks and verbs: when the time is read, and what a clock that jumps between two verbs does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::time::{Clock, Now, Timestamp};
use ops::Session;
use ops::audit;
use ops::epoch::resume_all;
use ops::event::list;
use ops::verb::Effect;
use serde_json::Value;
use store::Store;
use testkit::ManualClock;

use super::{Sample, samples, shown_again};
use crate::crew_world::Crew;

/// Far more than anything is kept for.
const JUMP_MILLIS: i64 = 400 * 86_400_000;

/// A clock that notes which of its times were read while the store's write lock was held.
struct ProbingClock {
    time: ManualClock,
    store: Mutex<Store>,
    under_lock: Mutex<Vec<Timestamp>>,
}

impl Clock for ProbingClock {
    fn now(&self) -> Now {
        self.time.advance(Duration::from_millis(1));
        let now = self.time.now();
        let is_locked = self.store.lock().unwrap().begin().is_err();
        if is_locked {
            self.under_lock.lock().unwrap().push(now.at);
        }
        now
    }
}

/// The events after this one.
fn events(crew: &mut Crew, after: i64) -> Vec<store::LoggedEvent> {
    let all = list::Request {
        since_id: after,
        ascending: true,
        include_archived: true,
        limit: Some(1000),
        ..list::Request::default()
    };
    list::events(&mut crew.world.cx, &all).unwrap()
}

fn newest(crew: &mut Crew) -> Option<store::LoggedEvent> {
    let last = list::Request { include_archived: true, limit: Some(1), ..list::Request::default() };
    list::events(&mut crew.world.cx, &last).unwrap().pop()
}

#[test]
fn every_event_has_a_time_that_was_read_under_the_write_lock() {
    for sample in samples().filter(|sample| sample.entry().effect.mutates()) {
        let mut crew = Crew::new();
        let (key, request) = (sample.prepare)(&mut crew);
        let before = newest(&mut crew).map_or(0, |event| event.id);
        let store = crew.world.temp.open();
        store.wait_at_most(Duration::ZERO).unwrap();
        let clock = Arc::new(ProbingClock {
            time: crew.world.clock(),
            store: Mutex::new(store),
            under_lock: Mutex::default(),
        });
        crew.world.cx = crew.world.host.open(&crew.world.temp.path(), clock.clone(), 99);
        sample.call(&mut crew, key.as_ref(), request);
        let under_lock = clock.under_lock.lock().unwrap();
        for event in events(&mut crew, before) {
            let at = Timestamp::from_millis(event.record.at);
            assert!(under_lock.contains(&at), "{}: {} at {at}", sample.verb, event.record.kind);
        }
    }
}

/// Calls a verb with a clock that is wrong for this one call.
fn call_at_a_wrong_time(crew: &mut Crew, sample: &Sample, jump: i64, pair: &str) {
    crew.move_on();
    crew.world.confirm_time();
    let (key, request) = (sample.prepare)(crew);
    let last = newest(crew);
    crew.world.clock().jump_wall(jump);
    let called =
        (sample.entry().call)(&mut crew.world.cx, &key.clone().unwrap_or_else(crate::world::reader), request);
    crew.world.clock().jump_wall(-jump);
    let new = events(crew, last.as_ref().map_or(0, |last| last.id));
    match called {
        Ok(_) => is_flagged(last.as_ref(), &new, pair),
        // What expired by the clock may be refused, and then nothing is written.
        Err(error) => assert!(new.is_empty() && !is_fault(error.code), "{pair}: {error}"),
    }
}

/// A call that was answered, to be repeated.
struct Answered {
    sample: &'static Sample,
    key: Session,
    request: Value,
    answer: Value,
}

/// Calls every verb that is answered once, each on things of its own.
fn all_answered(crew: &mut Crew) -> Vec<Answered> {
    let once = samples().filter(|sample| sample.entry().effect == Effect::Once);
    let call = |sample: &'static Sample| {
        crew.move_on();
        let (key, request) = (sample.prepare)(crew);
        let answer = sample.call(crew, key.as_ref(), request.clone()).answer;
        Answered { sample, key: key.unwrap(), request, answer }
    };
    once.map(call).collect()
}

/// Nothing can be called while writ is halted.
fn lift_halt(crew: &mut Crew) {
    if ops::epoch::current(&mut crew.world.cx).unwrap().is_some() {
        let (key, request) = (crew.key(), resume_all::Request::default());
        resume_all::resume_all(&mut crew.world.cx, &key, &request).unwrap();
    }
}

/// Between each two verbs the clock jumps by more than a year, for one call.
fn jumps(jump: i64) {
    let mut crew = Crew::new();
    let answered = all_answered(&mut crew);
    for second in samples() {
        call_at_a_wrong_time(&mut crew, second, jump, &format!("{} after {jump} ms", second.verb));
        lift_halt(&mut crew);
        assert_eq!(audit::pruned(&mut crew.world.cx).unwrap(), 0, "{}: an event was removed", second.verb);
        for Answered { sample, key, request, answer } in &answered {
            let again = sample.call(&mut crew, Some(key), request.clone());
            let pair = format!("{}, then {} after {jump} ms", sample.verb, second.verb);
            assert!(again.replayed && again.answer.get("secret").is_none_or(Value::is_null), "{pair}");
            assert_eq!(shown_again(again.answer), shown_again(answer.clone()), "{pair}");
        }
    }
    let found = audit::verify(&mut crew.world.cx, None).unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(audit::replay_differences(&mut crew.world.cx).unwrap(), Vec::<String>::new());
}

/// The first event after a clock was set back says so, and only that one. Imported events have times of their own.
#[track_caller]
fn is_flagged(last: Option<&store::LoggedEvent>, new: &[store::LoggedEvent], pair: &str) {
    if pair.contains("store.import_vybe") {
        return;
    }
    let steps: Vec<Option<i64>> = new.iter().map(|event| event.record.steps_back_ms).collect();
    let mut expected = vec![None; steps.len()];
    if let (Some(last), Some(first)) = (last, new.first()) {
        expected[0] = Some(last.record.at - first.record.at).filter(|back| *back > 0);
    }
    assert_eq!(steps, expected, "{pair}");
}

fn is_fault(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Bug | ErrorCode::Corrupt | ErrorCode::Io | ErrorCode::IdempotencyExpired)
}

#[test]
fn a_clock_that_is_ahead_between_two_verbs_removes_nothing() {
    jumps(JUMP_MILLIS);
}

#[test]
fn a_clock_that_is_behind_between_two_verbs_removes_nothing_and_is_flagged() {
    jumps(-JUMP_MILLIS);
}
