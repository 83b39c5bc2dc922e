use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::aop::parse_event;
use crate::domain::time::Timestamp;

const TASK: &str = include_str!("../../../vectors/aop/valid/c-2.1-task-minimal.json");
const RESPONSE: &str = include_str!("../../../vectors/aop/valid/c-5-response.json");

fn version(text: &str) -> &'static str {
    detect(text.as_bytes()).version.as_str()
}

#[test]
fn the_version_is_detected_from_the_header_alone() {
    assert_eq!(version(TASK), "v2");
    assert_eq!(version(RESPONSE), "v2");
    assert_eq!(version(&TASK.replace("2.0.2-C", "2.")), "v2");
    for other in ["\"3.0\"", "\"1.3.0\"", "\"2\"", "2.0"] {
        assert_eq!(version(&TASK.replace("\"2.0.2-C\"", other)), "unstructured", "{other}");
    }
}

#[test]
fn input_that_strict_readers_refuse_is_not_v2() {
    let marked = format!("\u{feff}{TASK}");
    let fenced = format!("```json\n{TASK}\n```");
    let twice = "{\"aop_version\":\"1\",\"aop_version\":\"2.0.2-C\"}";
    for text in
        [marked.as_str(), &fenced, twice, "{\"aop_version\":\"2.0.2-C\",\"x\":NaN}", "[1]", "null", ""]
    {
        assert_eq!(version(text), "unstructured", "{text:.40}");
    }
    assert_eq!(detect(b"\xff\xfetask: x").version, Version::Unstructured);
}

#[test]
fn an_invalid_v2_message_falls_back_to_v1() {
    let text = TASK.replace("\"category\"", "\"kategory\"");
    let found = detect(text.as_bytes());
    assert_eq!((found.version, found.code), (Version::V1, Some(FailureCode::SchemaValidation)));
    let fallback = found.fallback.unwrap();
    insta::assert_snapshot!(fallback.prompt.as_deref().unwrap(), @r"
    === TASK (AOP v1 Compatibility Mode) ===

    Task ID: TASK-001
    Complexity: LOW
    Priority: NORMAL

    ## Objective
    Read and summarize the README.md file.

    ## Environment
    Workspace: C:/ai/my-project

    ---
    Note: written from an AOP v2 task for an executor that reads v1.
    ");
    let event = fallback.event(Timestamp::from_millis(1_772_114_400_000));
    let printed = serde_json::to_string_pretty(&event).unwrap();
    insta::assert_snapshot!(printed, @r#"
    {
      "aop_version": "2.0.2-C",
      "schema_version": "2.0.2",
      "protocol_family": "AOP",
      "message_type": "EVENT",
      "event": "VERSION_FALLBACK",
      "session_id": "AOP-SESSION-2026-02-26-001",
      "task_id": "TASK-001",
      "timestamp": "2026-02-26T14:00:00.000Z",
      "from_version": "2.0.2-C",
      "to_version": "1.x",
      "reason": "V2_SCHEMA_VALIDATION_FAILED",
      "error_code": "E_SCHEMA_VALIDATION",
      "validation_errors": [
        "$.task.category: `category` is required",
        "$.task.kategory: unknown field `kategory`; did you mean `category`?"
      ],
      "input_preview": "{\n  \"aop_version\": \"2.0.2-C\",\n  \"schema_version\": \"2.0.2\",\n  \"protocol_family\": \"AOP\",\n  \"message_type\": \"TASK\",\n  \"session\": {\n    \"session_id\": \"AOP-SESSION-2026-02-26-001\",\n    \"created_at\": \"2026-"
    }
    "#);
    assert_eq!(parse_event(printed.as_bytes()).unwrap().0, event);
}

#[test]
fn a_message_without_an_objective_is_shown_unchanged() {
    let found = detect(b"{\"aop_version\":\"2.0.2-C\",\"message_type\":\"TASK\"}");
    let fallback = found.fallback.unwrap();
    assert_eq!((fallback.session_id.clone(), fallback.task_id.clone()), (None, None));
    assert!(fallback.prompt.unwrap().contains("{\"aop_version\":\"2.0.2-C\",\"message_type\":\"TASK\"}"));
}

#[test]
fn a_refused_response_requests_no_work() {
    let found = detect(RESPONSE.replace("\"COMPLETED\"", "\"DONE\"").as_bytes());
    assert_eq!((found.version, found.code), (Version::V1, Some(FailureCode::MalformedResponse)));
    assert_eq!(found.fallback.unwrap().prompt, None);
}

#[test]
fn a_message_over_a_hard_limit_does_not_fall_back() {
    let mut task: serde_json::Value = serde_json::from_str(TASK).unwrap();
    task["task"]["inputs"] = json!(vec![json!({"type": "FILE"}); 101]);
    let found = detect(task.to_string().as_bytes());
    assert_eq!((found.version, found.code), (Version::V2, Some(FailureCode::ContextOverflow)));
    assert_eq!(found.fallback, None);
    assert_eq!(detect(&vec![b' '; 600_000]).code, Some(FailureCode::ContextOverflow));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "\\PC{0,80}") {
        drop(detect(&bytes));
        drop(detect(text.as_bytes()));
    }
}
