use super::*;

#[test]
fn a_name_is_stored_as_the_text_it_is() {
    let name = ExecutorName::parse("aop-stdio").unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), "\"aop-stdio\"");
    assert_eq!(serde_json::from_str::<ExecutorName>("\"shell\"").unwrap(), ExecutorName::shell());
}

#[test]
fn a_name_has_no_spaces_capitals_or_paths() {
    for text in ["", "Shell", "my agent", "-x", "../x", "a/b", &"x".repeat(NAME_CHARS_MAX + 1)] {
        assert!(ExecutorName::parse(text).is_err(), "{text}");
        let stored = serde_json::to_string(text).unwrap();
        assert!(serde_json::from_str::<ExecutorName>(&stored).is_err(), "{text}");
    }
}
