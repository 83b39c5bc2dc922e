use super::*;
use crate::domain::memory::tests::memory;

fn draft(value: &str) -> MemoryDraft {
    MemoryDraft {
        place: MemoryScope::global(),
        key: "k".to_owned(),
        value: value.to_owned(),
        value_type: ValueType::String,
        kind: None,
        half_life_days: None,
        pin: false,
        expiry: Expiry::Never,
        source_task_id: None,
    }
}

const NOW: Timestamp = Timestamp::from_millis(1_000);

#[test]
fn a_new_memory_is_a_fact_that_fades_by_its_kind() {
    let written = draft("v").written(None, 7, NOW).unwrap();
    assert_eq!((written.id, written.kind, written.half_life_days), (7, MemoryKind::Fact, None));
    assert_eq!((written.pinned, written.expires_at, written.source_task_id), (false, None, None));
}

#[test]
fn a_later_write_keeps_omitted_fields_except_the_expiry() {
    let mut known = memory(MemoryKind::Lesson);
    known.written.half_life_days = Some(3.0);
    known.written.pinned = true;
    known.written.expires_at = Some(Timestamp::from_millis(9));
    known.written.source_task_id = Some("task_1".to_owned());
    let mut later = draft("new");
    later.source_task_id = Some("task_2".to_owned());
    let expected = NewMemory { value: "new".to_owned(), expires_at: None, ..known.written.clone() };
    assert_eq!(later.written(Some(&known), 7, NOW), Ok(expected.clone()));
    later.kind = Some(MemoryKind::Directive);
    later.half_life_days = Some(5.0);
    let expected = NewMemory { kind: MemoryKind::Directive, half_life_days: Some(5.0), ..expected };
    assert_eq!(later.written(Some(&known), 7, NOW), Ok(expected));
}

#[test]
fn an_expiry_is_a_duration_or_a_future_time_within_a_hundred_years() {
    assert_eq!(Expiry::after("1h30m"), Ok(Expiry::After(Duration::from_mins(90))));
    assert_eq!(Expiry::after("2w"), Ok(Expiry::After(Duration::from_hours(14 * 24))));
    assert_eq!(Expiry::after("1.5h"), Ok(Expiry::After(Duration::from_mins(90))));
    assert_eq!(Expiry::after("-1h"), Ok(Expiry::Before(Duration::from_hours(1))));
    assert_eq!(Expiry::after("0s"), Ok(Expiry::After(Duration::ZERO)));
    for text in ["", "soon", "101000w", "-101000w"] {
        assert_eq!(Expiry::after(text).unwrap_err().code, ErrorCode::InvalidInput, "{text}");
    }
    let at = |expiry: Expiry| draft("v").with(expiry).written(None, 1, NOW).map(|memory| memory.expires_at);
    assert_eq!(at(Expiry::After(Duration::from_millis(5))), Ok(Some(Timestamp::from_millis(1_005))));
    assert_eq!(at(Expiry::Before(Duration::from_millis(5))), Ok(Some(Timestamp::from_millis(995))));
    assert_eq!(at(Expiry::At(Timestamp::from_millis(1_001))), Ok(Some(Timestamp::from_millis(1_001))));
    assert!(at(Expiry::At(NOW)).is_err());
    assert!(at(Expiry::at("9999-01-01T00:00:00Z").unwrap()).is_err());
    assert!(Expiry::at("tomorrow").is_err());
}

impl MemoryDraft {
    fn with(mut self, expiry: Expiry) -> Self {
        self.expiry = expiry;
        self
    }
}

#[test]
fn texts_are_bounded_and_free_of_secrets() {
    let code = |result: Result<&str, Refusal>| result.map(|_| ()).map_err(|refusal| refusal.code);
    assert_eq!(code(checked_key(&"k".repeat(limits::MEMORY_KEY_BYTES_MAX))), Ok(()));
    assert_eq!(code(checked_key(&"k".repeat(limits::MEMORY_KEY_BYTES_MAX + 1))), Err(ErrorCode::TooLarge));
    for key in ["", " ", "a\nb", "a\0"] {
        assert_eq!(code(checked_key(key)), Err(ErrorCode::InvalidInput), "{key:?}");
    }
    let value = "v".repeat(limits::MEMORY_VALUE_BYTES_MAX);
    assert_eq!(checked_value(&value, None), Ok(ValueType::String));
    assert_eq!(checked_value(&(value + "v"), None).unwrap_err().code, ErrorCode::TooLarge);
    assert!(checked_value("a\nb\tc", None).is_ok() && checked_value("\0", None).is_err());
    assert_eq!(checked_value("12", Some("")), Ok(ValueType::Number));
    assert_eq!(checked_value("12", Some("string")), Ok(ValueType::String));
    assert_eq!(checked_value("x", Some("number")).unwrap_err().message, "the value is not of type number");
    assert_eq!(checked_value("x", Some("float")).unwrap_err().message, "invalid value type 'float'");
    assert!(checked_place("project", Some("a\u{7}")).is_err());
    assert!(without_secrets(&["plain", "password=hunter2hunter2"]).is_err());
    for days in [0.0, -1.0, f64::NAN, f64::INFINITY, 36_501.0] {
        assert!(checked_half_life(days).is_err(), "{days}");
    }
    assert!(
        checked_half_life(0.5).is_ok()
            && MemoryKind::named("fact").is_ok()
            && MemoryKind::named("myth").is_err()
    );
}
