use contract::domain::plan::PlanTask;
use serde_json::json;

use super::*;
use crate::pipeline::samples::{now, run_of, task};

/// What the task's executor makes of a second attempt.
pub(crate) fn prepared(spec: PlanTask) -> PreparedChild {
    let (run, subject) = (run_of(vec![spec.clone()]), task(1, spec.clone()));
    let executors = Executors::built_in();
    executors.find(&spec.executor).unwrap().prepare(&AttemptWork {
        run: &run,
        workspace: "/",
        task: &subject,
        command: &spec.command,
        model: None,
        alternative: None,
        resume: None,
        before: None,
        so_far: None,
        dispatch: None,
        is_confined: &|| false,
        attempt_number: 2,
        brief: "the brief",
        hidden: &Hidden::default(),
        now: now(),
    })
}

pub(crate) fn ended(exit_code: i32) -> ChildEnd {
    ChildEnd { exit_code: Some(exit_code), ..ChildEnd::default() }
}

#[test]
fn every_executor_has_a_name_of_its_own_and_is_found_by_it() {
    let executors = Executors::built_in();
    let known = executors.known();
    for executor in &known {
        assert_eq!(known.iter().filter(|other| other.name == executor.name).count(), 1, "{}", executor.name);
        assert_eq!(executors.find(&executor.name).unwrap().name(), executor.name);
    }
    assert!(executors.find(&ExecutorName::parse("mystery").unwrap()).is_none());
}

#[test]
fn a_command_is_run_as_it_is_or_by_a_shell() {
    let plain = prepared(PlanTask::minimal("a"));
    assert_eq!((&*plain.argv, plain.stdin), (&["true".to_owned()][..], Stdin::Closed));
    let line = prepared(PlanTask { shell: true, ..PlanTask::minimal("a") });
    assert_eq!(line.argv, ["sh", "-c", "true"]);
}

#[test]
fn an_aop_executor_gets_the_task_on_standard_input() {
    let executor = ExecutorName::aop_stdio();
    let spec = PlanTask { executor, prompt: Some("Do it".to_owned()), ..PlanTask::minimal("a") };
    let Stdin::Bytes(bytes) = prepared(spec).stdin else { panic!("no input, or one without an end") };
    assert_eq!(bytes.last(), Some(&b'\n'));
    let sent: contract::json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((&sent["task"]["objective"], &sent["task"]["attempt"]), (&json!("Do it"), &json!(2)));
    assert_eq!(sent["task"]["inputs"][0]["content"], "the brief");
}

#[test]
fn an_aop_executor_answers_once_and_for_its_own_task() {
    let executor = ExecutorName::aop_stdio();
    let spec = PlanTask { executor, prompt: Some("Do it".to_owned()), ..PlanTask::minimal("a") };
    let claim = |answers: &dyn Fn(&contract::json::Value) -> Vec<contract::json::Value>, exit_code| {
        let PreparedChild { stdin, mut reader, .. } = prepared(spec.clone());
        let Stdin::Bytes(bytes) = stdin else { panic!("no input") };
        let sent: contract::json::Value = serde_json::from_slice(&bytes).unwrap();
        for answer in answers(&response(&sent)) {
            reader.line(OutputLine::Whole(answer.to_string().as_bytes()));
        }
        reader.end(&ended(exit_code)).claim
    };
    assert_eq!(claim(&|right| vec![right.clone()], 1), ExecutorClaim::Success);
    let twice = claim(&|right| vec![right.clone(), right.clone()], 0);
    assert_eq!(twice, failure("E_MALFORMED_RESPONSE", "the RESPONSE is a second RESPONSE"));
    let other = |right: &contract::json::Value| {
        let mut other = right.clone();
        other["task_id"] = json!("TASK-OF-SOMEBODY-ELSE");
        vec![other]
    };
    assert_eq!(claim(&other, 0), failure("E_MALFORMED_RESPONSE", "the RESPONSE answers another task"));
    assert_eq!(claim(&|_| Vec::new(), 0), failure("E_MALFORMED_RESPONSE", "ended without a RESPONSE"));
    let crashed = failure("E_PROCESS_CRASH", "exit 1 without a RESPONSE");
    assert_eq!(claim(&|_| Vec::new(), 1), crashed);
}

fn response(task: &contract::json::Value) -> contract::json::Value {
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "RESPONSE",
        "session_id": task["session"]["session_id"], "task_id": task["task"]["task_id"],
        "agent": {"name": "a", "provider": "OTHER", "model": "m"},
        "task_status": {"state": "COMPLETED", "final_signal": "SUCCESS", "message": "done"},
        "execution_summary": {"summary": "done", "actions": ["a"], "output_artifacts": []},
        "timing": {
            "started_at": "2026-01-01T12:00:00Z", "completed_at": "2026-01-01T12:00:01Z", "duration_seconds": 1,
        },
    })
}

#[test]
fn lines_are_found_in_any_pieces() {
    let whole = b"one\n\ntwo\r\nlast";
    for size in 1..=whole.len() {
        let mut lines = LineBuffer::default();
        let mut seen = Vec::new();
        let mut each = |line: OutputLine<'_>| match line {
            OutputLine::Whole(line) => seen.push(line.to_vec()),
            OutputLine::TooLong => panic!("nothing here is long"),
        };
        whole.chunks(size).for_each(|piece| lines.push(piece, &mut each));
        lines.finish(&mut each);
        assert_eq!(seen, [&b"one"[..], b"", b"two\r", b"last"]);
    }
}

#[test]
fn a_line_beyond_the_limit_is_dropped_and_the_next_one_is_read() {
    let mut lines = LineBuffer::default();
    let mut seen = Vec::new();
    let long = vec![b'x'; contract::domain::limits::LINE_BYTES_MAX];
    for piece in [&long[..], b"xx", b"x\nshort\n"] {
        lines.push(piece, |line| seen.push(matches!(line, OutputLine::TooLong)));
    }
    assert_eq!(seen, [true, false]);
}

#[test]
fn no_executor_can_claim_success_for_a_child_that_was_ended() {
    let timeout = Duration::from_secs(90);
    assert_eq!(forced_failure(&ended(0), timeout), None);
    let stopped = ChildEnd { stopped: Some(Stopped::Timeout), ..ended(0) };
    assert_eq!(forced_failure(&stopped, timeout), Some(failure("E_TIMEOUT", "took longer than 1m30s")));
    let survivors = ChildEnd { survivors: 2, ..ended(0) };
    assert_eq!(
        forced_failure(&survivors, timeout),
        Some(failure("E_PROCESS_CRASH", "2 processes could not be ended"))
    );
}
