//! The fields of an AOP TASK that have an effect, each through a whole run.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{agent, aop, with, writ};
use crate::read_back::work;

/// The status and the reason of the TASK when its run has ended.
fn outcome(cli: &Cli, task: &Value) -> String {
    let worked = work(cli, task);
    format!("{}: {}", worked.status("T-1"), worked.reason("T-1")).trim_end_matches(": ").to_owned()
}

/// The TASK with these fields inside `task` set.
fn with_work(mut document: Value, fields: Value) -> Value {
    document["task"] = with(document["task"].take(), fields);
    document
}

/// A RESPONSE to the TASK of these tests with these fields set.
pub(crate) fn response(fields: Value) -> Value {
    let response = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
        "message_type": "RESPONSE", "session_id": "S-1", "task_id": "T-1",
        "agent": {"name": "emma", "provider": "OTHER", "model": "none"},
        "task_status": {"state": "COMPLETED", "final_signal": "SUCCESS"},
        "execution_summary": {"summary": "did it", "actions": ["did it"]},
    });
    with(response, fields)
}

/// A TASK whose executor prints these messages, one per line.
pub(crate) fn answered(cli: &Cli, messages: &[Value]) -> Value {
    let lines: Vec<String> = messages
        .iter()
        .map(|message| format!("print {}\n", message.to_string().replace('\\', r"\\")))
        .collect();
    let script = cli.scratch().write("script", lines.concat());
    let mut task = aop(cli, "");
    task["task"]["extensions"]["x_command"] = json!([agent(), "--file", script]);
    task
}

#[test]
fn every_version_that_starts_with_2_runs() {
    let cli = writ();
    for version in ["2.0.0", "2.0.1-M", "2.9"] {
        let task = with(aop(&cli, "aop-success"), json!({"aop_version": version}));
        assert_eq!(outcome(&cli, &task), "done claimed", "{version}");
    }
}

#[test]
fn the_executor_gets_the_task_that_was_submitted() {
    let cli = writ();
    let mut task = with_work(
        aop(&cli, ""),
        json!({"priority": "HIGH", "constraints": {"max_tokens": 1000}, "attempt": 1}),
    );
    let tee = json!(["sh", "-c", "tee task.json | \"$0\" aop-success", agent()]);
    task["task"]["extensions"] = json!({"x_command": tee, "x_of_somebody": {"any": ["thing"]}});
    assert_eq!(outcome(&cli, &task), "done claimed");
    let mut got: Value = serde_json::from_str(&cli.scratch().read("project/task.json")).unwrap();
    // Times are printed with milliseconds.
    assert_eq!(got["session"]["created_at"], "2026-01-01T12:00:00.000Z");
    got["session"]["created_at"] = task["session"]["created_at"].clone();
    for (name, submitted) in task.as_object().unwrap() {
        let pairs = |value: &Value| value.as_object().cloned().unwrap_or_default();
        if submitted.is_object() {
            for (field, value) in pairs(submitted) {
                assert_eq!(got[name][&field], value, "{name}.{field}");
            }
        } else {
            assert_eq!(got[name], *submitted, "{name}");
        }
    }
}

#[test]
fn a_response_of_another_session_is_not_an_answer() {
    let cli = writ();
    let task = answered(&cli, &[response(json!({"session_id": "S-2"}))]);
    assert_eq!(outcome(&cli, &task), "failed: E_MALFORMED_RESPONSE: the RESPONSE answers another session");
    let task = answered(&cli, &[response(json!({}))]);
    assert_eq!(outcome(&cli, &task), "done claimed");
}

#[test]
fn a_response_over_its_size_limit_is_refused() {
    let cli = writ();
    let padded = |bytes: usize| response(json!({"extensions": {"x_padding": "x".repeat(bytes)}}));
    assert_eq!(outcome(&cli, &answered(&cli, &[padded(500_000)])), "done claimed");
    let refused = outcome(&cli, &answered(&cli, &[padded(520_000)]));
    assert!(refused.starts_with("failed: E_CONTEXT_OVERFLOW: "), "{refused}");
}

#[test]
fn guard_rails_say_whether_a_response_needs_a_signal_and_a_report() {
    let cli = writ();
    let silent = response(json!({"task_status": {"state": "COMPLETED"}}));
    let mut bare = response(json!({}));
    bare.as_object_mut().unwrap().remove("execution_summary");
    for (answer, rule) in [(silent, "require_final_signal"), (bare, "require_minimal_report")] {
        let task = answered(&cli, &[answer]);
        let refused = outcome(&cli, &task);
        assert!(refused.starts_with("failed: E_MALFORMED_RESPONSE: "), "{rule}: {refused}");
        let task = with(task, json!({"guard_rails": {rule: false}}));
        assert_eq!(outcome(&cli, &task), "done claimed", "{rule}");
    }
}

#[test]
fn an_executor_that_misses_its_heartbeats_is_ended() {
    let cli = writ();
    let beats = json!({"heartbeat": {"enabled": true, "interval_seconds": 1, "max_missed_beats": 1}});
    let task = with(aop(&cli, "hang"), json!({"execution_policy": beats}));
    assert_eq!(outcome(&cli, &task), "failed: E_HEARTBEAT_FAILURE: sent no sign of life");
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}

#[test]
fn an_executor_can_send_its_heartbeats_with_writ() {
    let cli = writ();
    let beats = json!({"heartbeat": {"enabled": true, "interval_seconds": 1, "max_missed_beats": 4}});
    let mut task = with(aop(&cli, ""), json!({"execution_policy": beats}));
    let line = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do {} heartbeat --run $WRIT_RUN --task $WRIT_TASK > /dev/null; sleep 0.6; done; \
         exec \"$0\" aop-success",
        env!("CARGO_BIN_EXE_writ")
    );
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", line, agent()]);
    assert_eq!(outcome(&cli, &task), "done claimed");
}

#[test]
fn heartbeats_and_progress_are_shown_while_the_task_runs() {
    let cli = writ();
    let event = |kind: &str, more: Value| {
        let event = json!({
            "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
            "message_type": "EVENT", "event": kind, "session_id": "S-1", "task_id": "T-1", "agent": "emma",
            "timestamp": "2026-01-01T12:00:00Z",
        });
        with(event, more)
    };
    let messages = [
        event("HEARTBEAT", json!({"progress_percentage": 42})),
        event("PROGRESS_UPDATE", json!({"progress": {"percentage": 77, "message": "nearly there"}})),
        response(json!({})),
    ];
    cli.scratch().write("project/task.json", answered(&cli, &messages).to_string());
    let output = cli.run(["run", "task.json"]);
    assert!(output.success().stderr.contains("T-1: 42%"), "{output}");
    assert!(output.stderr.contains("T-1: 77% nearly there"), "{output}");
}

#[test]
fn expected_outputs_and_checkpoints_decide_whether_a_task_is_done() {
    let cli = writ();
    let file = |path: &str| json!({"type": "FILE", "path": path, "description": "d"});
    let wants = |output: Value| {
        with_work(aop(&cli, "write out.txt x; aop-success"), json!({"expected_outputs": [output]}))
    };
    let missing = outcome(&cli, &wants(file("other.txt")));
    assert_eq!(missing, "failed: check `other.txt` failed: the file does not exist");
    assert_eq!(outcome(&cli, &wants(file("out.txt"))), "done verified");
    let validated = |command: &str| json!({"command": command, "expects": "EXIT_CODE_0"});
    let wrong =
        outcome(&cli, &wants(with(file("out.txt"), json!({"validation": validated("grep -q y out.txt")}))));
    assert!(wrong.starts_with("failed: check `grep -q y out.txt` failed: exit 1"), "{wrong}");
    let phase = |command: &str| {
        let checkpoint =
            json!({"checkpoint_id": "C-1", "description": "d", "validation": validated(command)});
        json!({"phases": [{
            "phase_id": "P-1", "phase_order": 1, "label": "l", "objective": "o", "checkpoints": [checkpoint],
        }]})
    };
    let task = |command: &str| with(aop(&cli, "write out.txt x; aop-success"), phase(command));
    assert_eq!(outcome(&cli, &task("grep -q x out.txt")), "done verified");
    let wrong = outcome(&cli, &task("grep -q y out.txt"));
    assert!(wrong.starts_with("failed: check `grep -q y out.txt` failed: exit 1"), "{wrong}");
}

#[test]
fn a_task_may_use_the_tokens_of_its_constraints_and_no_more() {
    let cli = writ();
    let task = |max: u64| {
        with_work(aop(&cli, "aop-cost 0.1; aop-success"), json!({"constraints": {"max_tokens": max}}))
    };
    assert_eq!(outcome(&cli, &task(110)), "done claimed");
    assert_eq!(
        outcome(&cli, &task(109)),
        "failed: E_COST_LIMIT_EXCEEDED: it used 110 tokens, the budget is 109"
    );
}
