//! A push and the claims, retries and clocks around it.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use ops::registry;
use ops::{push, task};
use serde_json::{Value, json};

use crate::world::{World, begin, key, pushed};

#[test]
fn what_another_agent_holds_is_not_moved_but_may_be_commented() {
    let mut world = World::new();
    let id = world.task("one");
    task::begin::begin(&mut world.cx, &key("bob", "r"), &begin(&id)).unwrap();
    let note = json!({"kind": "note", "message": "looks good"});
    let moving = pushed(json!({"task_id": id, "event": note, "task_status": {"status": "completed"}}));
    let before = world.state();
    let refused = push::push(&mut world.cx, &key("ann", "r"), &moving).unwrap_err();
    assert_eq!(refused.code, ErrorCode::HeldByAnother);
    assert_eq!(world.state(), before);
    let comment = pushed(json!({"task_id": id, "event": note, "artifacts": [{"file_path": "review.md"}]}));
    push::push(&mut world.cx, &key("ann", "r"), &comment).unwrap();
    push::push(&mut world.cx, &key("bob", "r2"), &moving).unwrap();
}

#[test]
fn a_moment_that_is_over_is_refused_only_the_first_time() {
    let mut world = World::new();
    let ends = world.temp.now().at.plus(limits::CLAIM_LEASE).to_string();
    let memories = json!([{"key": "k", "value": "v", "scope": "global", "expires_at": ends}]);
    let request = pushed(json!({"memories": memories}));
    push::push(&mut world.cx, &key("ann", "r"), &request).unwrap();
    world.clock().advance(limits::CLAIM_LEASE);
    assert!(push::push(&mut world.cx, &key("ann", "r"), &request).unwrap().replayed);
    let refused = push::push(&mut world.cx, &key("ann", "r2"), &request).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidInput);
}

#[test]
fn the_same_key_twice_in_one_push_keeps_the_last() {
    let mut world = World::new();
    let memory = |value: &str| json!({"key": "k", "value": value, "scope": "global"});
    let request = pushed(json!({"memories": [memory("1"), memory("2")]}));
    let answer = push::push(&mut world.cx, &key("ann", "r"), &request).unwrap().answer;
    assert_eq!(answer.memories.len(), 2);
    let kept =
        ops::memory::get::get(&mut world.cx, &crate::world::reader(), &crate::world::named("k")).unwrap();
    assert_eq!((kept.id, kept.value.as_str()), (1, "2"));
}

/// A call by the name of the operation, as other doors make it.
fn call(world: &mut World, name: &str, request: Value) -> Result<Value, ops::Error> {
    let key = key("ann", &request.to_string());
    Ok((registry::find(name).unwrap().call)(&mut world.cx, &key, request)?.answer)
}

#[test]
fn every_door_is_told_what_does_not_fit() {
    let mut world = World::new();
    call(&mut world, "memory.set", json!({"key": "k", "value": "v"})).unwrap();
    assert_eq!(call(&mut world, "memory.get", json!({"key": "k"})).unwrap()["value"], "v");
    assert_eq!(call(&mut world, "memory.list", json!({})).unwrap()["count"], 1);
    assert_eq!(call(&mut world, "artifact.list", json!({"task_id": "t"})).unwrap()["count"], 0);
    let cases = [
        ("agent.push", json!({"event": {"kind": 5, "message": "m"}})),
        ("agent.push", json!([])),
        ("memory.set", json!({"key": "k", "value": 5})),
        ("memory.set", json!({"key": "k", "value": "v", "half_life_days": "x"})),
        ("memory.pin", json!({"key": "k", "unpin": "yes"})),
        ("memory.gc", json!({"limit": "all"})),
        ("memory.gc", json!({"limits": 1})),
        ("task.complete", json!({"id": "task_1", "outcome": "shiny", "summary": "s"})),
        ("memory.gc", json!({"limit": -1})),
        ("memory.search", json!({"query": "a\u{0}b"})),
        ("memory.list", json!({"limit": 0})),
    ];
    let strange = json!({"event": {"kind": "k", "message": "m", "colour": "red"}, "note": 1});
    let told = call(&mut world, "agent.push", strange).unwrap();
    assert_eq!(told["ignored"], json!(["$.event.colour", "$.note"]));
    let before = world.state();
    for (name, request) in cases {
        let refused = call(&mut world, name, request.clone()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidInput, "{name} {request}: {refused}");
    }
    assert_eq!(world.state(), before);
}
