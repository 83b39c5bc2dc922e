//! Clocks that are set back or forward by a day while leases, lives and cursors run.

use std::collections::BTreeSet;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use ops::event::list;
use ops::resume::{Request, resume};
use ops::{memory, task};

use crate::world::{World, create, key, named, remember};

const DAY_MILLIS: i64 = 86_400_000;

#[test]
fn a_jump_of_the_clock_grants_nothing_twice_and_loses_no_event() {
    for jumps in [[DAY_MILLIS, -2 * DAY_MILLIS], [-DAY_MILLIS, 2 * DAY_MILLIS]] {
        let mut world = World::new();
        let mut seen = BTreeSet::new();
        let mut holders = BTreeSet::new();
        let mut round = 0;
        let mut step = |world: &mut World, agent: &str| {
            round += 1;
            task::create::create(&mut world.cx, &key("maker", &format!("c{round}")), &create("one")).unwrap();
            let request = Request { limit: Some(1000), ..Request::default() };
            let answer = resume(&mut world.cx, &key(agent, &format!("r{round}")), &request).unwrap().answer;
            if agent == "a" {
                let ids: Vec<i64> = answer.deltas.into_iter().flatten().map(|event| event.id).collect();
                assert!(ids.iter().all(|id| seen.insert(*id)), "an event came twice: {ids:?}");
            }
            assert!(!answer.focus_task_id.is_empty());
            holders.insert((answer.focus_task_id, agent.to_owned()));
        };
        step(&mut world, "a");
        step(&mut world, "b");
        for jump in jumps {
            world.clock().jump_wall(jump);
            step(&mut world, "a");
            step(&mut world, "b");
        }
        step(&mut world, "a");
        let tasks: BTreeSet<&String> = holders.iter().map(|(task, _)| task).collect();
        assert_eq!(tasks.len(), holders.len(), "no task had two holders: {holders:?}");
        let news = list::Request { without_bookkeeping: true, limit: Some(1000), ..list::Request::default() };
        let news = list::events(&mut world.cx, &news).unwrap();
        let newest = *seen.last().unwrap();
        let expected: BTreeSet<i64> = news.iter().map(|event| event.id).filter(|id| *id <= newest).collect();
        assert_eq!(seen, expected, "every event was delivered");
        assert!(seen.len() >= 7, "{seen:?}");
    }
}

#[test]
fn a_memory_lives_until_its_moment_in_utc_and_is_collected_only_then() {
    let mut world = World::new();
    let request = remember("k", "v", Some("1h"));
    memory::set::set(&mut world.cx, &key("a", "set"), &request).unwrap();
    let name = named("k");
    let is_there =
        |world: &mut World| memory::get::get(&mut world.cx, &crate::world::reader(), &name).is_ok();
    let collected = |world: &mut World, request: &str| {
        let asked = memory::gc::Request { limit: None };
        memory::gc::gc(&mut world.cx, &key("a", request), &asked).unwrap().answer.deleted
    };
    world.clock().jump_wall(-DAY_MILLIS);
    assert!(is_there(&mut world));
    assert_eq!(collected(&mut world, "gc-1"), 0, "a clock that was set back collects nothing");
    world.clock().jump_wall(DAY_MILLIS);
    world.clock().advance(Duration::from_mins(59));
    assert!(is_there(&mut world));
    world.clock().advance(Duration::from_mins(1));
    assert!(!is_there(&mut world));
    assert_eq!(collected(&mut world, "gc-2"), 0, "no event before this call is past its time");
    assert_eq!(collected(&mut world, "gc-3"), 1, "the event of the call before is");
}

#[test]
fn an_answer_is_given_again_whatever_the_clock_says() {
    let mut world = World::new();
    let first = task::create::create(&mut world.cx, &key("a", "r"), &create("one")).unwrap();
    for jump in [DAY_MILLIS, -3 * DAY_MILLIS, DAY_MILLIS] {
        world.clock().jump_wall(jump);
        world.clock().advance(limits::CLAIM_LEASE);
        let again = task::create::create(&mut world.cx, &key("a", "r"), &create("one")).unwrap();
        assert_eq!((again.answer, again.replayed), (first.answer.clone(), true));
        let other = task::create::create(&mut world.cx, &key("a", "r"), &create("two"));
        assert_eq!(other.unwrap_err().code, ErrorCode::IdempotencyKeyReused);
    }
}
