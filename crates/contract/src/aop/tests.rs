#![expect(clippy::disallowed_methods, reason = "the vectors are files")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::strict;

fn vector(name: &str) -> Value {
    let path = format!("{}/vectors/aop/{name}.json", env!("CARGO_MANIFEST_DIR"));
    strict::parse(&std::fs::read(path).unwrap()).unwrap()
}

fn minimal() -> Value {
    vector("valid/c-2.1-task-minimal")
}

fn full() -> Value {
    vector("valid/c-2.2-task-full")
}

fn response() -> Value {
    vector("valid/c-5-response")
}

/// Sets the member at a JSON pointer, making objects on the way; removes it where the new value is `null`.
fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = parent.split('/').skip(1).fold(&mut value, |at, step| match step.parse::<usize>() {
        Ok(index) => &mut at[index],
        Err(_) => &mut at[step],
    });
    match (new, name.parse::<usize>()) {
        (Value::Null, _) => drop(parent.as_object_mut().unwrap().remove(name)),
        (new, Ok(index)) => parent[index] = new,
        (new, Err(_)) => parent[name] = new,
    }
    value
}

fn run(value: &Value, strict: bool) -> String {
    let verdict = validate(value.to_string().as_bytes(), strict);
    let mut lines = vec![verdict.code];
    lines.extend(verdict.details.findings.iter().map(|f| format!("{} [{}] {}", f.path, f.rule, f.message)));
    lines.extend(
        verdict.details.warnings.iter().map(|f| format!("warning {} [{}] {}", f.path, f.rule, f.message)),
    );
    lines.join("\n")
}

#[test]
fn every_fault_of_a_task_is_reported_with_its_place() {
    let mut task = full();
    for (pointer, value) in [
        ("/aop_version", json!("3.0")),
        ("/protocol_family", json!("OPA")),
        ("/task_status", json!({})),
        ("/session/created_at", json!("yesterday")),
        ("/target/role", json!("AUDITOR")),
        ("/task/attempt", json!(0)),
        ("/task/objective", json!("  ")),
        ("/task/constraints/max_cost_usd", json!(-1)),
        ("/task/environment/extensions", json!({"y": 1})),
        ("/execution_policy/timeout_seconds", json!(-1)),
        ("/execution_policy/retry_backoff_seconds", json!([30, -1])),
        ("/phases/0/checkpoints/0/validation/expects", json!("OK")),
        ("/orchestration_metadata/tags", Value::String("x".to_owned())),
    ] {
        task = with(task, pointer, value);
    }
    insta::assert_snapshot!(run(&task, false), @r"
    E_SCHEMA_VALIDATION
    $.aop_version [form] must be a version that starts with `2.`
    $.execution_policy.retry_backoff_seconds[1] [minimum] must be at least 0, is -1
    $.execution_policy.timeout_seconds [minimum] must be at least 1, is -1
    $.orchestration_metadata.tags [type] must be a list, is text
    $.phases[0].checkpoints[0].validation.expects [enum] must be one of EXIT_CODE_0, MATCH_FOUND, NO_MATCH, FILE_EXISTS; is `OK`
    $.protocol_family [enum] must be one of AOP; is `OPA`
    $.session.created_at [form] must be a time in RFC 3339 form, such as 2026-01-26T12:00:00Z
    $.target.role [enum] must be one of ORCHESTRATOR, EXECUTOR, SPECIALIST; is `AUDITOR`
    $.task.attempt [minimum] must be at least 1, is 0
    $.task.constraints.max_cost_usd [minimum] must be at least 0, is -1
    $.task.environment.extensions.y [key] the name must be prefixed with `x_`
    $.task.objective [form] must be text that is not blank
    $.task_status [unknown_field] unknown field `task_status`
    ");
}

#[test]
fn the_message_type_decides_what_is_checked() {
    let header = json!({"aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP"});
    insta::assert_snapshot!(run(&with(header.clone(), "/message_type", json!("TASKS")), false), @r"
    E_SCHEMA_VALIDATION
    $.message_type [enum] must be one of TASK, RESPONSE, EVENT; is `TASKS`
    ");
    insta::assert_snapshot!(run(&header, false), @r"
    E_SCHEMA_VALIDATION
    $.message_type [missing] `message_type` is required
    ");
    insta::assert_snapshot!(run(&with(header.clone(), "/message_type", json!("TASK")), false), @r"
    E_SCHEMA_VALIDATION
    $.session [missing] `session` is required
    $.target [missing] `target` is required
    $.task [missing] `task` is required
    ");
    let event = with(header, "/message_type", json!("EVENT"));
    insta::assert_snapshot!(run(&with(event, "/event", json!("PING")), false), @r"
    E_SCHEMA_VALIDATION
    $.event [enum] must be one of HEARTBEAT, PROGRESS_UPDATE, PRIORITY_ESCALATION, ROLLBACK_INITIATED, VERSION_FALLBACK, SESSION_FINAL_REPORT; is `PING`
    $.timestamp [missing] `timestamp` is required
    ");
}

#[test]
fn input_that_does_not_claim_to_be_aop_is_a_parse_failure() {
    insta::assert_snapshot!(run(&json!([1, 2]), false), @r"
    E_PARSE_FAILURE
    $ [not_aop] not an AOP v2 message: `aop_version` and other required fields are missing
    ");
    let partial = json!({"message_type": "TASK", "session": {"session_id": "s"}});
    assert!(run(&partial, false).starts_with("E_PARSE_FAILURE"));
    let headless = with(minimal(), "/aop_version", Value::Null);
    insta::assert_snapshot!(run(&headless, false), @r"
    E_SCHEMA_VALIDATION
    $.aop_version [missing] `aop_version` is required
    ");
    let verdict = validate(b"{\"aop_version\": \"2.0.2-C\", \"x\": }", false);
    insta::assert_snapshot!(format!("{} {}", verdict.code, verdict.reason), @"E_PARSE_FAILURE $: expected value at line 1 column 33");
}

#[test]
fn sizes_are_bounded_by_type() {
    let padded = |value: Value, length: usize| {
        let empty = with(value.clone(), "/extensions", json!({"x_padding": ""})).to_string().len();
        with(value, "/extensions", json!({"x_padding": "X".repeat(length - empty)})).to_string()
    };
    let code = |text: &str| validate(text.as_bytes(), false).code;
    assert_eq!(code(&padded(minimal(), limits::TASK_BYTES_MAX)), "OK");
    assert_eq!(code(&padded(minimal(), limits::TASK_BYTES_MAX + 1)), "E_CONTEXT_OVERFLOW");
    assert_eq!(code(&padded(response(), limits::RESPONSE_BYTES_MAX)), "OK");
    assert_eq!(code(&padded(response(), limits::RESPONSE_BYTES_MAX + 1)), "E_CONTEXT_OVERFLOW");
    let reason = validate(padded(minimal(), 250 * 1024).as_bytes(), false).reason;
    insta::assert_snapshot!(reason, @"$: the TASK has 256000 bytes; the limit is 204800 (200KB)");
    let unread = vec![b'['; limits::TASK_BYTES_MAX + 1];
    assert_eq!(parse_task(&unread).unwrap_err().code, "E_CONTEXT_OVERFLOW");
}

#[test]
fn soft_limits_warn_and_in_strict_mode_refuse() {
    let objective = |length: usize| with(minimal(), "/task/objective", json!("é".repeat(length)));
    assert_eq!(run(&objective(40_000), true), "OK");
    insta::assert_snapshot!(run(&objective(40_001), true), @r"
    OK
    warning $.task.objective [E_PAYLOAD_SIZE_WARNING] has 40001 characters, close to the limit of 50000
    ");
    insta::assert_snapshot!(run(&objective(50_001), false), @r"
    OK
    warning $.task.objective [E_PAYLOAD_SIZE_WARNING] has 50001 characters; the limit is 50000
    ");
    insta::assert_snapshot!(run(&objective(50_001), true), @r"
    E_CONTEXT_OVERFLOW
    $.task.objective [max_length] has 50001 characters; the limit is 50000
    ");
    let checkpoint = json!({"checkpoint_id": "c", "description": "d"});
    let checkpoints =
        |count: usize| with(full(), "/phases/1/checkpoints", json!(vec![checkpoint.clone(); count]));
    assert_eq!(run(&checkpoints(20), false), "OK");
    insta::assert_snapshot!(run(&checkpoints(21), false), @r"
    OK
    warning $.phases[1].checkpoints [E_PAYLOAD_SIZE_WARNING] has 21 checkpoints; at most 20 are recommended
    ");
}

#[test]
fn a_hard_count_outranks_other_faults() {
    let inputs = json!(vec![json!({"type": "FILE"}); 101]);
    let task = with(with(minimal(), "/task/inputs", inputs), "/task/category", json!("X"));
    insta::assert_snapshot!(run(&task, false), @r"
    E_CONTEXT_OVERFLOW
    $.task.category [enum] must be one of ANALYSIS, CODE_GENERATION, CODE_REFACTORING, TESTING, DEBUGGING, DOCUMENTATION, PLANNING, REVIEW, OTHER; is `X`
    $.task.inputs [max_items] allows at most 100, has 101
    ");
}

#[test]
fn guard_rails_decide_what_a_response_must_carry() {
    let bare = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
        "message_type": "RESPONSE", "session_id": "s", "task_id": "t",
        "agent": {"name": "a", "provider": "LOCAL", "model": "m"}, "task_status": {"state": "COMPLETED"},
    });
    insta::assert_snapshot!(run(&bare, false), @r"
    E_MALFORMED_RESPONSE
    $.execution_summary [missing] `execution_summary` is required
    $.task_status.final_signal [missing] `final_signal` is required
    ");
    let empty = with(bare.clone(), "/execution_summary", json!({"summary": " \n", "actions": []}));
    insta::assert_snapshot!(run(&empty, true), @r"
    E_MALFORMED_RESPONSE
    $.execution_summary.actions [min_items] must not be empty: a report is required
    $.execution_summary.summary [min_length] must not be blank: a report is required
    $.task_status.final_signal [missing] `final_signal` is required
    $.task_status.message [missing] `message` is required
    $.timing [missing] `timing` is required
    ");
    let guard = |signal, report| GuardRails {
        require_final_signal: Some(signal),
        require_minimal_report: Some(report),
        ..GuardRails::default()
    };
    let bytes = bare.to_string();
    assert!(parse_response(bytes.as_bytes(), Some(&guard(false, false))).is_ok());
    for refused in [guard(true, false), guard(false, true), GuardRails::default()] {
        let verdict = parse_response(bytes.as_bytes(), Some(&refused)).unwrap_err();
        assert_eq!(verdict.code, "E_MALFORMED_RESPONSE");
    }
}

#[test]
fn a_response_must_name_its_agent_session_task_and_status() {
    for field in ["agent", "session_id", "task_id", "task_status"] {
        let verdict =
            validate(with(response(), &format!("/{field}"), Value::Null).to_string().as_bytes(), false);
        let place = format!("$.{field}");
        assert_eq!(
            (verdict.code.as_str(), verdict.details.path.as_deref()),
            ("E_MALFORMED_RESPONSE", Some(&*place))
        );
    }
}

#[test]
fn values_of_older_drafts_are_accepted_unless_strict() {
    let task = with(full(), "/phases/0/checkpoints/0/recovery_strategy", json!("SKIP"));
    let task = with(task, "/phases/0/checkpoints/0/status", json!("RECOVERED"));
    let task = with(task, "/task/expected_outputs/0/rollback_snapshot/snapshot_strategy", json!("NONE"));
    assert_eq!(run(&task, false), "OK");
    insta::assert_snapshot!(run(&task, true), @r"
    E_SCHEMA_VALIDATION
    $.phases[0].checkpoints[0].recovery_strategy [enum] `SKIP` is a value of an older draft
    $.phases[0].checkpoints[0].status [enum] `RECOVERED` is a value of an older draft
    $.task.expected_outputs[0].rollback_snapshot.snapshot_strategy [enum] `NONE` is a value of an older draft
    ");
}

#[test]
fn doubtful_messages_pass_with_a_warning() {
    let doubtful = with(response(), "/task_status/final_signal", json!("FAILURE"));
    let doubtful = with(doubtful, "/timing/started_at", json!("2026-02-26T12:35:01"));
    let doubtful = with(doubtful, "/error_details", json!({"error_code": "E_ODD", "message": "m"}));
    insta::assert_snapshot!(run(&doubtful, false), @r"
    OK
    warning $.error_details.error_code [unknown_code] is not a code of the taxonomy and counts as E_UNKNOWN
    warning $.task_status.final_signal [contradiction] the signal FAILURE does not match the state COMPLETED
    warning $.timing.started_at [zone] the time has no zone and is read as UTC
    ");
    let lower = with(vector("valid/c-8-event-priority-escalation"), "/new_priority", json!("LOW"));
    insta::assert_snapshot!(run(&lower, false), @r"
    OK
    warning $.new_priority [not_higher] is not higher than the old priority
    ");
    insta::assert_snapshot!(run(&with(full(), "/phases/1/phase_order", json!(1.0)), false), @r"
    OK
    warning $.phases[1].phase_order [duplicate] another phase has the same order; they run as listed
    ");
}

#[test]
fn whole_floats_and_times_without_zone_are_read() {
    let task = with(minimal(), "/task/attempt", json!(2.0));
    let task = with(task, "/session/created_at", json!("2026-02-26T14:00:00"));
    let (task, warnings) = parse_task(task.to_string().as_bytes()).unwrap();
    assert_eq!(task.task.attempt, Some(2));
    assert_eq!(task.session.created_at.to_string(), "2026-02-26T14:00:00.000Z");
    assert_eq!(warnings.len(), 1);
}

#[test]
fn an_executor_may_print_events_and_a_response_only() {
    let line = |value: &Value| match parse_line(format!("{value}\r\n").as_bytes(), None) {
        Ok(AopLine::Event(event)) => event.kind().as_str().to_owned(),
        Ok(AopLine::Response(response)) => response.task_status.state.as_str().to_owned(),
        Err(verdict) => format!("{} {}", verdict.code, verdict.reason),
    };
    assert_eq!(line(&vector("valid/c-6.1-event-heartbeat")), "HEARTBEAT");
    assert_eq!(line(&response()), "COMPLETED");
    insta::assert_snapshot!(line(&minimal()), @"E_MALFORMED_RESPONSE $.message_type: must be RESPONSE or EVENT here");
    insta::assert_snapshot!(line(&json!({"level": "info", "text": "working"})), @"E_PARSE_FAILURE $: not an AOP v2 message: `aop_version` and other required fields are missing");
    insta::assert_snapshot!(line(&json!({"aop_version": "2.0.2-C"})), @"E_MALFORMED_RESPONSE $.message_type: `message_type` is required");
}

#[test]
fn every_message_has_a_schema_and_every_code_a_meaning() {
    let names: Vec<&str> = shapes().iter().map(|shape| shape.name).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for shape in shapes() {
        let schema = crate::shape::schema::schema(shape.name, &crate::shape::Shape::Object(shape));
        let held = schema["$defs"].as_object().unwrap().values().all(Value::is_object);
        assert!(held, "{}", shape.name);
    }
    assert_eq!(FailureCode::ALL.len(), 18);
    assert!(
        FailureCode::ALL
            .iter()
            .all(|code| FailureCode::read(code.as_str()) == *code && !code.meaning().is_empty())
    );
    assert_eq!(FailureCode::read("E_MODEL_CAPABILITY_MISMATCH"), FailureCode::Unknown);
}

/// The vectors this crate carries, by name, that are valid.
fn valid_vectors() -> Vec<(String, Value)> {
    let cases = vector("cases");
    let files = cases["cases"].as_array().unwrap().iter().map(|case| case["file"].as_str().unwrap());
    files
        .filter_map(|file| file.strip_suffix(".json").filter(|name| name.starts_with("valid/")))
        .map(|name| (name.to_owned(), vector(name)))
        .collect()
}

/// Reads a message, prints it, and reads it again.
fn twice(value: &Value) -> Option<(Value, Value)> {
    let bytes = value.to_string();
    let printed = match value["message_type"].as_str()? {
        "TASK" => serde_json::to_value(parse_task(bytes.as_bytes()).ok()?.0),
        "RESPONSE" => serde_json::to_value(parse_response(bytes.as_bytes(), None).ok()?.0),
        _ => serde_json::to_value(parse_event(bytes.as_bytes()).ok()?.0),
    };
    let first = printed.unwrap();
    let again = match value["message_type"].as_str()? {
        "TASK" => serde_json::to_value(parse_task(first.to_string().as_bytes()).unwrap().0),
        "RESPONSE" => serde_json::to_value(parse_response(first.to_string().as_bytes(), None).unwrap().0),
        _ => serde_json::to_value(parse_event(first.to_string().as_bytes()).unwrap().0),
    };
    Some((first, again.unwrap()))
}

#[test]
fn what_was_read_is_printed_whole() {
    for (name, value) in valid_vectors() {
        let (first, again) = twice(&value).unwrap();
        assert_eq!(first, again, "{name}");
        for (pointer, leaf) in leaves(&value, String::new()) {
            let printed = first.pointer(&pointer);
            let same_time = leaf.as_str().zip(printed.and_then(Value::as_str)).is_some_and(|(a, b)| {
                crate::domain::time::Timestamp::parse(a).is_ok_and(|time| time.to_string() == b)
            });
            assert!(printed == Some(leaf) || same_time || leaf.is_null(), "{name} {pointer}: {printed:?}");
        }
    }
}

fn leaves(value: &Value, at: String) -> Vec<(String, &Value)> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| leaves(value, format!("{at}/{name}"))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, value)| leaves(value, format!("{at}/{index}")))
            .collect(),
        leaf => vec![(at, leaf)],
    }
}

/// Changes one leaf of a valid message to something of another kind.
fn mutated() -> impl Strategy<Value = Value> {
    let vectors: Vec<Value> = valid_vectors().into_iter().map(|(_, value)| value).collect();
    let new = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1.0)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(1e300)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("2026-02-26T14:00:00")),
        Just(json!("")),
        "[A-Z_]{0,12}".prop_map(Value::from),
    ];
    (prop::sample::select(vectors), any::<prop::sample::Index>(), new).prop_map(|(value, index, new)| {
        let pointers: Vec<String> = leaves(&value, String::new()).into_iter().map(|(at, _)| at).collect();
        let mut value = value.clone();
        if let Some(leaf) = value.pointer_mut(index.get::<String>(&pointers)) {
            *leaf = new;
        }
        value
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        drop(validate(&bytes, true));
        drop(parse_line(&bytes, None));
    }

    #[test]
    fn what_the_shapes_admit_the_types_can_hold(value in mutated()) {
        let verdict = validate(value.to_string().as_bytes(), false);
        let read = twice(&value);
        prop_assert_eq!(verdict.allow, read.is_some(), "{}", verdict.reason);
        if let Some((first, again)) = read {
            prop_assert_eq!(first, again);
        }
    }
}
