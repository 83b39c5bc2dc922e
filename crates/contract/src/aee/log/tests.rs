use super::*;

fn outcome(line: &str) -> String {
    match parse_line(line.as_bytes()) {
        Ok(LogLine::Whole(envelope)) => format!("whole {}", envelope.id),
        Ok(LogLine::Short(short)) => format!("short {} {:?}", short.id, short.extra),
        Err(verdict) => format!("{} {}", verdict.code, verdict.reason),
    }
}

#[test]
fn five_fields_are_enough_for_a_log_and_never_for_a_message() {
    let short = r#"{"v":"1","id":"evt-00001","type":"event","from":"agent.a","intent":"a.b.c","n":1}"#;
    assert_eq!(outcome(short), r#"short evt-00001 {"n": Number(1)}"#);
    assert_eq!(super::super::validate(short.as_bytes(), false).code, "MISSING_REQUIRED_INPUT");
}

#[test]
fn optional_fields_must_still_be_valid() {
    let cases = [
        (r#"{"v":"1","id":"evt-00001","type":"event","from":"a"}"#, "MISSING_REQUIRED_INPUT $.intent"),
        (r#"{"v":"1","id":"e","type":"event","from":"a","intent":"a.b"}"#, "SCHEMA_INVALID $.id"),
        (r#"{"v":"2","id":"evt-00001"}"#, "UNKNOWN_SCHEMA_VERSION $.v"),
        (
            r#"{"v":"1","id":"evt-00001","type":"event","from":"a","intent":"a.b","corr":7}"#,
            "SCHEMA_INVALID $.corr",
        ),
        ("", "SCHEMA_INVALID $: the document is empty"),
    ];
    for (line, expected) in cases {
        assert!(outcome(line).starts_with(expected), "{line}: {}", outcome(line));
    }
}
