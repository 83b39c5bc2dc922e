//! Signs of life, progress and deadlines of running tasks.

use serde_json::{Value, json};
use testkit::Cli;

use crate::aop_tasks::{answered, response};
use crate::documents::{agent, aop, plan, shell, with, writ};
use crate::read_back::{Worked, work};

/// A TASK whose child is a line of shell; the scripted agent is its `$0`.
fn line(cli: &Cli, line: &str, policy: Value) -> Value {
    let mut task = with(aop(cli, ""), json!({"execution_policy": policy}));
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", line, agent()]);
    task
}

fn beats(on_failure: &str) -> Value {
    json!({"heartbeat": {
        "enabled": true, "interval_seconds": 1, "max_missed_beats": 1, "on_heartbeat_failure": on_failure,
    }})
}

/// The messages of the events of this kind in the trace.
fn told(worked: &Worked<'_>, intent: &str) -> Vec<String> {
    let trace = worked.trace();
    let found = trace.iter().filter(|event| event["intent"] == intent);
    found.map(|event| event["payload"].to_string()).collect()
}

const QUIET: &str = "sleep 2.5; exec \"$0\" aop-success";

#[test]
fn an_executor_that_misses_its_heartbeats_is_warned_about_and_goes_on() {
    let cli = writ();
    let worked = work(&cli, &line(&cli, QUIET, beats("WARN"))).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    let warned = "missed its heartbeats: no sign of life for";
    assert!(worked.output.stderr.contains(warned), "{}", worked.output);
    assert!(!told(&worked, "writ.task.silent").is_empty());
    let text = cli.run(["trace", worked.id()]).success().stdout.clone();
    assert!(text.contains("writ.task.silent") && text.contains(warned), "{text}");
    let decided = worked.decisions("L7");
    assert!(decided.iter().any(|decision| decision.starts_with("HEARTBEATS_MISSED: ")), "{decided:?}");
}

#[test]
fn missed_heartbeats_are_only_recorded_where_the_task_says_continue() {
    let cli = writ();
    let worked = work(&cli, &line(&cli, QUIET, beats("CONTINUE"))).succeeded();
    assert!(!worked.output.stderr.contains("heartbeats"), "{}", worked.output);
    assert_eq!(told(&worked, "writ.task.silent"), Vec::<String>::new());
    let silences = worked.shown("T-1")["attempts"][0]["outcome"]["silences"].clone();
    assert!(
        silences["windows"].as_u64() >= Some(1) && silences["longest_ms"].as_u64() > Some(1000),
        "{silences}"
    );
}

#[test]
fn whatever_a_program_prints_is_a_sign_of_life() {
    let cli = writ();
    let abort = json!({"heartbeat": {
        "enabled": true, "interval_seconds": 1, "max_missed_beats": 3, "on_heartbeat_failure": "ABORT",
    }});
    let prints = "for i in 1 2 3 4 5 6 7 8; do echo working >&2; sleep 0.5; done; exec \"$0\" aop-success";
    let worked = work(&cli, &line(&cli, prints, abort.clone())).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    let silent = work(&cli, &line(&cli, "sleep 1000", abort)).failed();
    assert_eq!(silent.reason("T-1"), "E_HEARTBEAT_FAILURE: sent no sign of life");
}

#[test]
fn a_plan_can_say_how_long_a_task_may_be_silent() {
    let cli = writ();
    let task = |rule: &str| with(shell("a", "sleep 1.5"), json!({"heartbeat": 1, "on_silence": rule}));
    let aborted = work(&cli, &plan([with(shell("a", "sleep 1000"), json!({"heartbeat": 1}))])).failed();
    assert_eq!(aborted.reason("a"), "E_HEARTBEAT_FAILURE: sent no sign of life");
    let warned = work(&cli, &plan([task("warn")])).succeeded();
    assert!(warned.output.stderr.contains("a: missed its heartbeats"), "{}", warned.output);
    let refused = cli
        .call(["run", "-"])
        .stdin(plan([with(shell("a", "true"), json!({"on_silence": "warn"}))]).to_string())
        .run();
    assert!(refused.fails_with(1).stderr.contains("has no effect without `heartbeat`"), "{refused}");
}

fn progress(percentage: u64, more: Value) -> Value {
    let progress = with(json!({"percentage": percentage, "message": format!("step {percentage}")}), more);
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
        "message_type": "EVENT", "event": "PROGRESS_UPDATE", "session_id": "S-1", "task_id": "T-1",
        "agent": "emma", "timestamp": "2026-01-01T12:00:00Z", "progress": progress,
    })
}

#[test]
fn progress_is_logged_at_most_every_half_minute_and_the_newest_is_never_lost() {
    let cli = writ();
    let mut messages: Vec<Value> = (1..=50).map(|percentage| progress(percentage, json!({}))).collect();
    messages.push(response(json!({})));
    let task = answered(&cli, &messages);
    let worked = work(&cli, &task).succeeded();
    for percentage in 1..=50 {
        let shown = format!("T-1: {percentage}% step {percentage}");
        assert!(worked.output.stderr.contains(&shown), "{shown}\n{}", worked.output);
    }
    let trace = worked.trace();
    let logged = trace.iter().filter(|event| event["intent"] == "writ.progress_update");
    let logged: Vec<&Value> =
        logged.map(|event| &event["payload"]["event"]["progress"]["percentage"]).collect();
    assert!(logged.len() <= 2 && logged.last() == Some(&&json!(50)), "{logged:?}");
}

#[test]
fn the_phase_the_checkpoint_and_the_time_that_is_left_are_shown() {
    let cli = writ();
    let more = json!({
        "current_phase": "PHASE-BUILD", "current_checkpoint": "CP-7", "estimated_time_remaining_seconds": 420,
    });
    let worked = work(&cli, &answered(&cli, &[progress(60, more), response(json!({}))])).succeeded();
    let shown = "T-1: 60% step 60 (PHASE-BUILD, CP-7, about 7m00s left)";
    assert!(worked.output.stderr.contains(shown), "{}", worked.output);
    let text = cli.run(["trace", worked.id()]).success().stdout.clone();
    assert!(text.contains("PROGRESS_UPDATE: 60% step 60 (PHASE-BUILD, CP-7, about 7m00s left)"), "{text}");
}

#[test]
fn a_task_that_may_be_late_is_reported_and_finishes() {
    let cli = writ();
    let quiet = "sleep 2; exec \"$0\" aop-success";
    let late = json!({"timeout_seconds": 1, "auto_terminate_on_timeout": false});
    let worked = work(&cli, &line(&cli, quiet, late.clone())).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    assert!(worked.output.stderr.contains("T-1: is late: its timeout of 1.0s is over"), "{}", worked.output);
    let text = cli.run(["trace", worked.id()]).success().stdout.clone();
    assert!(text.contains("writ.task.late"), "{text}");
    let late_ms = worked.shown("T-1")["attempts"][0]["outcome"]["late_ms"].clone();
    assert!(late_ms.as_u64() > Some(500), "{late_ms}");
    let decided = worked.decisions("L7");
    assert!(decided.iter().any(|decision| decision.starts_with("LATE: ended ")), "{decided:?}");
    // Guard rails come before the policy.
    let railed = with(line(&cli, quiet, late), json!({"guard_rails": {"auto_terminate_on_timeout": true}}));
    let ended = work(&cli, &railed).failed();
    assert_eq!(ended.reason("T-1"), "E_TIMEOUT: took longer than 1.0s");
}

#[test]
fn events_of_others_and_unknown_events_have_no_effect_and_are_named_once() {
    let cli = writ();
    let other_task = with(progress(77, json!({})), json!({"task_id": "T-9"}));
    let other_session = with(progress(78, json!({})), json!({"session_id": "S-9"}));
    let unknown = with(progress(79, json!({})), json!({"event": "LOG"}));
    let messages = [&other_task, &other_task, &other_session, &unknown, &unknown].map(Clone::clone);
    let messages: Vec<Value> = messages.into_iter().chain([response(json!({}))]).collect();
    let worked = work(&cli, &answered(&cli, &messages)).succeeded();
    let told = [
        "WITHOUT_EFFECT: the executor sent an event of another task",
        "WITHOUT_EFFECT: the executor sent an event of another session",
        "WITHOUT_EFFECT: the executor sent the event LOG, which writ does not know",
    ];
    assert_eq!(worked.task("T-1")["warnings"], json!(told));
    let decided = worked.decisions("L7");
    assert!(told.iter().all(|told| decided.contains(&(*told).to_owned())), "{decided:?}");
    assert!(!worked.output.stderr.contains("7%"), "{}", worked.output);
    let logged = worked.trace().iter().any(|event| event["intent"] == "writ.progress_update");
    assert!(!logged, "progress of another task is not this one's");
}
