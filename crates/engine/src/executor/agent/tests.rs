use contract::domain::executor::ExecutorName;
use contract::domain::money::MicroUsd;
use contract::domain::plan::PlanTask;
use serde_json::json;

use super::*;
use crate::agent_program::PROGRAMS;
use crate::executor::tests::{ended, prepared};
use crate::pipeline::l7_delegate::ExecutorClaim;

/// A reader of the program's stream.
fn reader(program: &str) -> Box<dyn Reader> {
    let executor = ExecutorName::parse(program).unwrap();
    let prompt = Some("Paint the fence".to_owned());
    prepared(PlanTask { executor, prompt, ..PlanTask::minimal("a") }).reader
}

/// The outcome of a program that prints these events, after a line that is none, and ends with this code.
fn returned(program: &str, events: &[Value], exit: i32) -> Returned {
    let mut reader = reader(program);
    reader.line(OutputLine::Whole(b"not an event"));
    for event in events {
        reader.line(OutputLine::Whole(event.to_string().as_bytes()));
    }
    reader.end(&ended(exit))
}

fn claimed(returned: &Returned) -> String {
    match &returned.claim {
        ExecutorClaim::Success => "success".to_owned(),
        ExecutorClaim::Failure { code, message } => format!("{code}: {message}"),
    }
}

/// The claim, session, summary, tokens and cost of an attempt.
fn told(returned: &Returned) -> Value {
    let reported = &returned.reported;
    let cost = reported.cost.map(|MicroUsd(micro)| micro);
    json!([claimed(returned), returned.agent_session, reported.summary, reported.tokens, cost])
}

/// A stream of Claude Code that ends well.
fn claude_events(version: &str) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "opus", "claude_code_version": version, "tools": []}),
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "fence"}}]},
            "parent_tool_use_id": null, "session_id": "s-1"}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "written"}]}, "session_id": "s-1"}),
        json!({"type": "an_event_of_tomorrow", "session_id": "s-1"}),
        json!({"session_id": "s-1", "subtype": "success", "is_error": false, "result": "The fence is green.", "total_cost_usd": 0.25,
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 7}, "type": "result"}),
    ]
}

#[test]
fn an_outcome_of_claude_has_its_report_and_its_usage() {
    let returned = returned("claude", &claude_events("2.1.325"), 0);
    assert_eq!(told(&returned), json!(["success", "s-1", "The fence is green.", 127, 250_000]));
    assert_eq!(
        serde_json::to_value(&returned.claims.report).unwrap(),
        json!({
            "state": "COMPLETED", "final_signal": "SUCCESS",
            "agent": {"name": "claude", "provider": "CLAUDE", "model": "opus"},
            "summary": "The fence is green.", "actions": ["Write fence"],
            "cost": {"actual": 250_000, "tokens_input": 120, "tokens_output": 7},
        })
    );
    assert_eq!(returned.session_total.unwrap().cost, Some(MicroUsd(250_000)));
}

#[test]
fn the_cost_of_an_old_claude_is_that_of_one_process() {
    let returned = returned("claude", &claude_events("2.1.197"), 0);
    assert_eq!((returned.reported.cost, returned.session_total), (Some(MicroUsd(250_000)), None));
}

#[test]
fn the_report_of_a_failure_has_its_code() {
    let error = json!({"type": "turn.failed", "error": {"message": "out of paint"}});
    let returned = returned("codex", &[error], 1);
    assert_eq!(
        serde_json::to_value(&returned.claims.report).unwrap(),
        json!({
            "state": "FAILED", "final_signal": "FAILURE",
            "agent": {"name": "codex", "provider": "CODEX", "model": "unspecified"},
            "error": {"error_code": "E_UNKNOWN", "message": "out of paint"},
        })
    );
}

#[test]
fn an_outcome_of_codex_has_its_session_and_its_tokens() {
    let events = [
        json!({"type": "thread.started", "thread_id": "th-1"}),
        json!({"type": "item.completed", "item": {"id": "i0", "type": "error", "message": "only a warning"}}),
        json!({"type": "item.completed", "item": {"id": "i1", "type": "command_execution", "command": "paint", "aggregated_output": "", "exit_code": 0}}),
        json!({"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "Green."}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 90, "cached_input_tokens": 80, "output_tokens": 10}}),
    ];
    assert_eq!(told(&returned("codex", &events, 0)), json!(["success", "th-1", "Green.", 100, null]));
}

#[test]
fn pieces_of_a_text_of_gemini_are_joined() {
    let events = [
        json!({"type": "init", "session_id": "g-1", "model": "gemini-2.5-pro"}),
        json!({"type": "message", "role": "user", "content": "Paint the fence"}),
        json!({"type": "tool_use", "tool_name": "write_file", "tool_id": "w1", "parameters": {"file_path": "fence"}}),
        json!({"type": "tool_result", "tool_id": "w1", "status": "success"}),
        json!({"type": "message", "role": "assistant", "content": "It is ", "delta": true}),
        json!({"type": "message", "role": "assistant", "content": "green.", "delta": true}),
        json!({"type": "result", "status": "success", "stats": {"input_tokens": 30, "output_tokens": 3}}),
    ];
    assert_eq!(told(&returned("gemini", &events, 0)), json!(["success", "g-1", "It is green.", 33, null]));
}

fn step(reason: &str) -> Value {
    json!({"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason, "cost": 0.01,
        "tokens": {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 0}}}})
}

#[test]
fn steps_of_opencode_are_added_up() {
    let events = [
        json!({"type": "tool_use", "sessionID": "ses_1", "part": {"tool": "write", "callID": "c", "state": {"status": "completed", "input": {"filePath": "fence"}, "output": "ok"}}}),
        step("tool-calls"),
        json!({"type": "text", "sessionID": "ses_1", "part": {"text": "Green."}}),
        step("stop"),
    ];
    assert_eq!(told(&returned("opencode", &events, 0)), json!(["success", "ses_1", "Green.", 36, 20_000]));
}

/// A failed result of Claude Code.
fn claude_error(status: Value, words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status, "result": words,
        "terminal_reason": "api_error", "total_cost_usd": 0.0, "usage": {"input_tokens": 0, "output_tokens": 0}})
}

#[test]
fn every_failure_of_claude_has_its_code() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s-1"});
    for (events, exit, expected) in [
        (
            vec![claude_error(json!(401), "Invalid API key")],
            1,
            "E_MODEL_UNAVAILABLE: authentication failed: Invalid API key",
        ),
        (vec![claude_error(json!(429), "slow down")], 1, "E_MODEL_UNAVAILABLE: rate limit: slow down"),
        (vec![claude_error(json!(529), "Overloaded")], 1, "E_MODEL_UNAVAILABLE: Overloaded"),
        (vec![claude_error(json!(500), "broken")], 1, "E_MODEL_UNAVAILABLE: broken"),
        (
            vec![claude_error(json!(400), "prompt is too long: 9 > 8")],
            1,
            "E_CONTEXT_OVERFLOW: prompt is too long: 9 > 8",
        ),
        (
            vec![
                json!({"type": "result", "subtype": "error_max_budget_usd", "is_error": true, "errors": ["the budget is used up"]}),
            ],
            1,
            "E_COST_LIMIT_EXCEEDED: the budget is used up",
        ),
        // Interrupted: the exit code is 0.
        (
            vec![json!({"type": "result", "subtype": "error_during_execution", "is_error": true})],
            0,
            "E_UNKNOWN: error_during_execution",
        ),
        (vec![init.clone()], 0, "E_MALFORMED_RESPONSE: ended before its answer was complete"),
        (vec![init.clone()], 143, "E_PROCESS_CRASH: exit 143"),
        (
            vec![
                init,
                json!({"type": "system", "subtype": "api_retry", "error": "overloaded", "error_status": 529}),
            ],
            1,
            "E_MODEL_UNAVAILABLE: overloaded",
        ),
    ] {
        assert_eq!(claimed(&returned("claude", &events, exit)), expected);
    }
}

#[test]
fn failures_of_the_other_programs_have_their_codes() {
    let failed = |words: &str| json!({"type": "turn.failed", "error": {"message": words}});
    let result = json!({"type": "result", "status": "error", "error": {"type": "API", "message": "Invalid stream: the model stopped"}, "stats": {}});
    let error = |name: &str, data: Value| json!({"type": "error", "sessionID": "ses_1", "error": {"name": name, "data": data}});
    for (program, events, exit, expected) in [
        (
            "codex",
            vec![failed("unexpected status 401 Unauthorized")],
            1,
            "E_MODEL_UNAVAILABLE: authentication failed: unexpected status 401 Unauthorized",
        ),
        (
            "codex",
            vec![
                json!({"type": "error", "message": "Reconnecting... 1/1 (429 Too Many Requests)"}),
                failed("exceeded retry limit, last status: 429 Too Many Requests"),
            ],
            1,
            "E_MODEL_UNAVAILABLE: rate limit: exceeded retry limit, last status: 429 Too Many Requests",
        ),
        (
            "codex",
            vec![failed("stream disconnected before completion")],
            1,
            "E_MODEL_UNAVAILABLE: stream disconnected before completion",
        ),
        (
            "codex",
            vec![failed("input exceeds the context window")],
            1,
            "E_CONTEXT_OVERFLOW: input exceeds the context window",
        ),
        // Failed in spite of exit code 0.
        ("gemini", vec![result], 0, "E_MODEL_UNAVAILABLE: Invalid stream: the model stopped"),
        ("gemini", vec![], 145, "E_MODEL_UNAVAILABLE: authentication failed: the model answered 401"),
        ("gemini", vec![], 173, "E_MODEL_UNAVAILABLE: rate limit: the model answered 429"),
        ("gemini", vec![], 55, "E_PROCESS_CRASH: exit 55"),
        (
            "opencode",
            vec![error("APIError", json!({"message": "no", "statusCode": 401}))],
            1,
            "E_MODEL_UNAVAILABLE: authentication failed: no",
        ),
        (
            "opencode",
            vec![
                error("ContextOverflowError", json!({"message": "too much"})),
                error("ContextOverflowError", json!({"message": "too much"})),
            ],
            1,
            "E_CONTEXT_OVERFLOW: too much",
        ),
        // A refused tool call ends its run without an answer.
        (
            "opencode",
            vec![step("tool-calls")],
            0,
            "E_MALFORMED_RESPONSE: ended before its answer was complete",
        ),
    ] {
        assert_eq!(claimed(&returned(program, &events, exit)), expected, "{program}");
    }
}

#[test]
fn a_program_that_repeats_broken_steps_or_calls_is_stopped() {
    let mut opencode = reader("opencode");
    let stops = |reader: &mut Box<dyn Reader>, event: Value| {
        reader.line(OutputLine::Whole(event.to_string().as_bytes()));
        reader.wishes().stop
    };
    let after: Vec<bool> = (0..5).map(|_| stops(&mut opencode, step("unknown"))).collect();
    assert_eq!(after, [false, false, false, false, true]);
}

#[test]
fn a_session_id_is_stored_once_and_only_if_it_can_be_an_argument() {
    let mut reader = reader("codex");
    let mut stored = |id: &str| {
        let event = json!({"type": "thread.started", "thread_id": id}).to_string();
        reader.line(OutputLine::Whole(event.as_bytes()));
        reader.wishes().session
    };
    let sessions = ["--help", "a b", "", "th-1", "th-1", "th-2"].map(&mut stored);
    assert_eq!(sessions.map(Option::unwrap_or_default), ["", "", "", "th-1", "", "th-2"]);
}

#[test]
fn every_program_is_declared_completely_and_survives_a_strange_stream() {
    for program in PROGRAMS {
        let name = program.name;
        assert_eq!(PROGRAMS.iter().filter(|other| other.name == name).count(), 1, "{name}");
        assert!(!program.title.is_empty() && program.home_variable.ends_with(char::is_uppercase), "{name}");
        let paths = program.secrets.iter().chain(program.credentials);
        assert!(paths.clone().count() > 0 && paths.into_iter().all(|path| !path.starts_with('/')), "{name}");
        let given = ["--mine".to_owned()];
        let resume = HeadlessCall {
            given: &given,
            model: Some("m-1"),
            resume: Some("s-1"),
            ..HeadlessCall::default()
        };
        let words = (program.arguments)(&resume);
        assert!(
            ["--mine", "m-1", "s-1"].iter().all(|word| words.iter().any(|other| other == word)),
            "{words:?}"
        );
        for event in
            [json!({}), json!([]), json!({"type": 7}), json!({"type": "tomorrow", "item": [], "part": 1})]
        {
            assert_eq!((program.shown)(&event), None, "{name} {event}");
            let incomplete = "E_MALFORMED_RESPONSE: ended before its answer was complete";
            assert_eq!(claimed(&returned(name, &[event], 0)), incomplete, "{name}");
        }
        assert_eq!(claimed(&returned(name, &[], 1)), "E_PROCESS_CRASH: exit 1", "{name}");
    }
}
