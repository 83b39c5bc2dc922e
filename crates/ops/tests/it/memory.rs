//! What becomes of memories as time passes.

use std::time::Duration;

use contract::continuity::MemoryView;
use contract::domain::code::ErrorCode;
use contract::domain::memory::{MemoryKind, Scope};
use ops::memory::{self, list, search};

use crate::world::{World, key, named, pinned, remember};

const MINUTE: Duration = Duration::from_mins(1);

impl World {
    fn set(&mut self, name: &str, expires_in: Option<&str>) -> i64 {
        let key = key("ann", &format!("{name} {expires_in:?} {:?}", self.temp.now().at));
        memory::set::set(&mut self.cx, &key, &remember(name, "word", expires_in)).unwrap().answer.event_id
    }

    fn pin(&mut self, name: &str, unpin: bool) {
        let request = pinned(name, unpin);
        memory::pin::pin(&mut self.cx, &key("ann", &format!("pin {name} {unpin}")), &request).unwrap();
    }

    fn remembered(&mut self, name: &str) -> Result<MemoryView, ErrorCode> {
        memory::get::get(&mut self.cx, &crate::world::reader(), &named(name)).map_err(|error| error.code)
    }

    fn keys(&mut self) -> Vec<String> {
        let request = list::Request { scope: Scope::Global, scope_id: None, limit: None };
        let listed = list::list(&mut self.cx, &crate::world::reader(), &request).unwrap().page;
        let request = search::Request { query: "word".to_owned(), limit: None };
        let found = search::search(&mut self.cx, &request).unwrap().page;
        let keys = |page: memory::Page| {
            let mut keys: Vec<String> = page.memories.into_iter().map(|memory| memory.key).collect();
            keys.sort();
            keys
        };
        let listed = keys(listed);
        assert_eq!(listed, keys(found), "a list and a search see the same");
        listed
    }

    fn collect(&mut self, request: &str, limit: i64) -> usize {
        let limit = memory::gc::Request { limit: Some(limit) };
        memory::gc::gc(&mut self.cx, &key("ann", request), &limit).unwrap().answer.deleted
    }
}

#[test]
fn what_has_expired_is_neither_shown_nor_found_nor_touched() {
    let mut world = World::new();
    world.set("short", Some("1m"));
    world.set("long", Some("1h"));
    world.set("plain", None);
    assert_eq!(world.keys(), ["long", "plain", "short"]);
    world.clock().advance(MINUTE);
    assert_eq!(world.keys(), ["long", "plain"]);
    assert_eq!(world.remembered("short"), Err(ErrorCode::NotFound));
    let gone = memory::delete::delete(&mut world.cx, &key("ann", "d"), &named("short")).unwrap_err();
    assert_eq!((gone.code, gone.message.as_str()), (ErrorCode::NotFound, "memory entry not found"));
    let request = pinned("short", false);
    assert!(memory::pin::pin(&mut world.cx, &key("ann", "p"), &request).is_err());
}

#[test]
fn a_pinned_memory_outlives_its_time_until_it_is_let_go() {
    let mut world = World::new();
    world.set("k", Some("1m"));
    world.pin("k", false);
    world.clock().advance(2 * MINUTE);
    assert_eq!(world.keys(), ["k"]);
    assert_eq!(world.collect("g1", 10), 0);
    let relevance = world.remembered("k").unwrap().relevance.unwrap();
    assert!((relevance - 1.0).abs() < f64::EPSILON, "{relevance}");
    world.pin("k", true);
    assert_eq!(world.keys(), Vec::<String>::new());
    assert_eq!(world.collect("g2", 10), 1);
}

#[test]
fn a_collection_removes_up_to_its_limit() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.set(name, Some("1m"));
    }
    world.set("kept", None);
    assert_eq!(world.collect("early", 10), 0);
    world.clock().advance(MINUTE);
    world.confirm_time();
    assert_eq!(world.collect("g1", 2), 2);
    assert_eq!(world.collect("g2", 2), 1);
    assert_eq!(world.collect("g3", 2), 0);
    assert_eq!(world.keys(), ["kept"]);
}

#[test]
fn whether_it_was_collected_makes_no_difference_to_a_later_write() {
    let after = |collected: bool| {
        let mut world = World::new();
        let mut first = remember("k", "word", Some("1m"));
        first.kind = Some(MemoryKind::Lesson);
        first.half_life_days = Some(3.0);
        first.source_task_id = Some("task_old".to_owned());
        memory::set::set(&mut world.cx, &key("ann", "first"), &first).unwrap();
        world.clock().advance(MINUTE);
        world.confirm_time();
        if collected {
            assert_eq!(world.collect("g", 1), 1);
        }
        world.set("k", None);
        world.remembered("k").unwrap()
    };
    assert_eq!(after(true), after(false));
    assert_eq!((after(false).kind.as_str(), after(false).half_life_days, after(false).id), ("fact", None, 2));
}

#[test]
fn a_retry_after_the_time_is_over_is_still_a_retry() {
    let mut world = World::new();
    let request = remember("k", "word", Some("1m"));
    let first = memory::set::set(&mut world.cx, &key("ann", "r"), &request).unwrap();
    world.clock().advance(5 * MINUTE);
    let again = memory::set::set(&mut world.cx, &key("ann", "r"), &request).unwrap();
    assert_eq!((again.replayed, again.answer), (true, first.answer));
    assert_eq!(world.keys(), Vec::<String>::new(), "and it brings nothing back");
}

#[test]
fn a_memory_fades_and_a_write_refreshes_it() {
    let mut world = World::new();
    world.set("k", None);
    world.clock().advance(Duration::from_hours(90 * 24));
    let relevance = |world: &mut World| world.remembered("k").unwrap().relevance.unwrap();
    let faded = relevance(&mut world);
    assert!((faded - 0.5).abs() < 1e-9, "{faded}");
    world.set("k", None);
    let fresh = relevance(&mut world);
    assert!((fresh - 1.0).abs() < 1e-9, "{fresh}");
}
