use super::ValueType::{Array, Boolean, Json, Number};
use super::*;

const DAY_MILLIS: i64 = 86_400_000;

pub(super) fn memory(kind: MemoryKind) -> Memory {
    let at = Timestamp::from_millis(0);
    let written = NewMemory {
        id: 1,
        place: MemoryScope::global(),
        key: "k".to_owned(),
        value: "v".to_owned(),
        value_type: ValueType::String,
        kind,
        half_life_days: None,
        pinned: false,
        expires_at: None,
        source_task_id: None,
    };
    Memory {
        written,
        source_event_id: None,
        created_at: at,
        updated_at: at,
        access_count: 0,
        last_accessed_at: None,
    }
}

#[test]
fn a_scope_and_its_id_belong_together() {
    assert_eq!(MemoryScope::new("global", None), Ok(MemoryScope::global()));
    assert_eq!(MemoryScope::new("global", Some("")), Ok(MemoryScope::global()));
    assert_eq!(MemoryScope::new("task", Some("t")).unwrap().shown_id(), Some("t"));
    assert_eq!(MemoryScope::new("agent", Some(" Ann ")), MemoryScope::new("agent", Some("ann")));
    let said = |scope, id| MemoryScope::new(scope, id).unwrap_err().message;
    assert_eq!(said("global", Some("x")), "global scope cannot have a scope_id");
    assert_eq!(said("task", None), "task scope requires a scope_id");
    assert_eq!(said("agent", Some("")), "agent scope requires a scope_id");
    assert_eq!(said("galaxy", None), "invalid scope: galaxy (must be one of: global, project, task, agent)");
}

#[test]
fn a_type_is_detected_from_the_value() {
    let seen = ["tabs", "12.5", "true", "[1]", "{\"a\":1}", "null", "\"x\"", ""].map(infer_type);
    let text = ValueType::String;
    assert_eq!(seen, [text, Number, Boolean, Array, Json, text, text, text]);
    assert!(fits_type("12", Number) && !fits_type("twelve", Number));
    assert!(fits_type("null", Json) && !fits_type("{", Json));
}

#[test]
fn memories_fade_by_their_half_life_unless_they_are_pinned_or_directives() {
    let at = |days: i64| Timestamp::from_millis(days * DAY_MILLIS);
    let about = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(about(memory(MemoryKind::Fact).relevance(at(90)), 0.5));
    assert!(about(memory(MemoryKind::Lesson).relevance(at(28)), 1.0 / 3.0));
    assert!(about(memory(MemoryKind::Directive).relevance(at(9000)), 1.0));
    let mut own = memory(MemoryKind::Directive);
    own.written.half_life_days = Some(1.0);
    assert!(about(own.relevance(at(1)), 0.5));
    own.written.pinned = true;
    assert!(about(own.relevance(at(1)), 1.0));
    assert!(about(memory(MemoryKind::Fact).relevance(at(-5)), 1.0), "a clock that was set back");
}

#[test]
fn a_memory_expires_at_its_moment_unless_it_is_pinned() {
    let mut memory = memory(MemoryKind::Fact);
    assert!(!memory.is_expired(Timestamp::from_millis(i64::MAX)));
    memory.written.expires_at = Some(Timestamp::from_millis(5));
    assert!(!memory.is_expired(Timestamp::from_millis(4)));
    assert!(memory.is_expired(Timestamp::from_millis(5)));
    memory.written.pinned = true;
    assert!(!memory.is_expired(Timestamp::from_millis(5)));
}
