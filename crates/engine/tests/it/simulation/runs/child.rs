//! What simulated children do: work, fail, lie, flood, hang, and lose their supervisors.

use engine::supervisor::{
    ChildReport, Gone, InForce, LaunchSpec, LostShim, ProcessExit, Reaped, StartFault, Stdin,
};
use serde_json::{Value, json};

use crate::simulation::dice::Dice;

/// One thing that a child does, and how long after the one before.
pub(super) type Step = (i64, Act);

pub(super) enum Act {
    /// The work is done: its artifact is there from now on.
    Finish,
    Report(ChildReport),
}

/// A child's future.
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// It ends only when it is killed.
    pub(super) ignores_stop: bool,
    /// Whether its end claims success.
    pub(super) claims_success: bool,
}

const FLOOD_PIECES: usize = 8;
const FLOOD_BYTES: usize = 16 * 1024;

/// What an executor's child does. `None`: it cannot even be started.
pub(super) fn work(dice: &mut Dice, spec: &LaunchSpec) -> Option<Script> {
    let delay = |dice: &mut Dice| dice.pick(&[5, 40, 300, 1_500]);
    let mut steps = vec![(1, Act::Report(ChildReport::Started { pid: 7, in_force: InForce::nothing() }))];
    let mut ignores_stop = false;
    let mut claims_success = false;
    match dice.below(16) {
        0 => return None,
        1 => {
            let fault =
                StartFault { message: "could not start work: no such file".to_owned(), errno: Some(2) };
            steps = vec![(1, Act::Report(ChildReport::Fault(fault)))];
        }
        2 => steps.push((delay(dice), Act::Report(lost()))),
        3 => {
            steps.push((delay(dice), Act::Finish));
            steps.push((1, Act::Report(lost())));
        }
        4 => ignores_stop = true,
        5 => {}
        6 => steps.extend(end(ProcessExit::Signal(9), Gone::default(), delay(dice))),
        7 => {
            steps.push((delay(dice), Act::Finish));
            steps.extend(end(ProcessExit::Code(0), Gone { killed: 1, survivors: 1 }, 1));
        }
        choice => {
            let is_honest = choice > 9;
            if choice % 4 == 0 {
                let flood = || Act::Report(ChildReport::Stdout(vec![b'x'; FLOOD_BYTES]));
                steps.extend((0..FLOOD_PIECES).map(|_| (1, flood())));
            }
            if is_honest {
                steps.push((delay(dice), Act::Finish));
            }
            let (answer, is_success) = answer(dice, spec);
            steps.extend(
                answer.into_iter().map(|text| (3, Act::Report(ChildReport::Stdout(text.into_bytes())))),
            );
            let code = if is_success { 0 } else { i32::from(dice.one_in(2)) };
            claims_success = if is_agent(spec) { is_success } else { code == 0 };
            steps.extend(end(
                ProcessExit::Code(code),
                Gone { killed: u32::from(dice.one_in(5)), survivors: 0 },
                delay(dice),
            ));
        }
    }
    Some(Script { steps, ignores_stop, claims_success })
}

/// What a check's child does. It tells the truth about the artifact if it comes to an end.
pub(super) fn check(dice: &mut Dice, expects: &str, is_true: bool) -> Option<Script> {
    let mut steps = vec![(1, Act::Report(ChildReport::Started { pid: 8, in_force: InForce::nothing() }))];
    match dice.below(20) {
        0 => return None,
        1 => steps.push((5, Act::Report(lost()))),
        2 => {}
        3 => steps.extend(end(ProcessExit::Signal(11), Gone::default(), 5)),
        _ => {
            let (code, prints) = match (expects, is_true) {
                ("MATCH_FOUND", true) => (0, true),
                ("MATCH_FOUND", false) => (i32::from(dice.one_in(2)), false),
                ("NO_MATCH", true) => (1, false),
                ("NO_MATCH", false) => (0, true),
                (_, is_true) => (i32::from(!is_true), dice.one_in(2)),
            };
            if prints {
                steps.push((5, Act::Report(ChildReport::Stdout(b"found it\n".to_vec()))));
            }
            steps.extend(end(ProcessExit::Code(code), Gone::default(), dice.pick(&[5, 200])));
        }
    }
    Some(Script { steps, ignores_stop: false, claims_success: false })
}

pub(super) fn end(exit: ProcessExit, gone: Gone, after_ms: i64) -> [Step; 2] {
    [(after_ms, Act::Report(ChildReport::Exited(exit))), (1, Act::Report(ChildReport::Gone(gone)))]
}

fn lost() -> ChildReport {
    let reaped = Reaped { ended: 1, survivors: 0 };
    ChildReport::Lost(LostShim {
        message: "the supervising process ended before its executor".to_owned(),
        reaped,
    })
}

fn is_agent(spec: &LaunchSpec) -> bool {
    spec.stdin != Stdin::Closed
}

/// What the child prints at its end, in pieces, and whether that claims success.
fn answer(dice: &mut Dice, spec: &LaunchSpec) -> (Vec<String>, bool) {
    let Stdin::Bytes(bytes) = &spec.stdin else {
        return (vec!["some words\nand a password=hunter2secret!\n".to_owned()], dice.below(3) > 0);
    };
    let task: Value = serde_json::from_slice(bytes).expect("a TASK on standard input");
    let success = response(&task, "COMPLETED", "SUCCESS");
    let line = |message: &Value| format!("{message}\n");
    match dice.below(10) {
        0 => (vec![line(&success), line(&response(&task, "FAILED", "FAILURE"))], false),
        1 => {
            let mut other = success;
            other["task_id"] = json!("TASK-OF-SOMEBODY-ELSE");
            (vec![line(&other)], false)
        }
        2 => (vec![format!("{}\n", &success.to_string()[..80])], false),
        3 => (vec!["no message at all\n{\"level\": \"info\"}\n".to_owned()], false),
        4 => {
            let mut failed = response(&task, "FAILED", "FAILURE");
            failed["error_details"] = json!({
                "error_code": "E_RATE_LIMIT", "message": "later", "extensions": {"x_retry_after_ms": 4_000}
            });
            (vec![line(&failed)], false)
        }
        // In pieces, between other output, and without a last newline.
        5 => {
            let text = success.to_string();
            let (a, b) = text.split_at(text.len() / 2);
            (vec![format!("banner\n{a}"), b.to_owned()], true)
        }
        _ => (vec![line(&progress(&task)), line(&success)], true),
    }
}

fn response(task: &Value, state: &str, signal: &str) -> Value {
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "RESPONSE",
        "session_id": task["session"]["session_id"], "task_id": task["task"]["task_id"],
        "agent": {
            "name": task["target"]["agent_name"], "provider": task["target"]["provider"], "model": task["target"]["model"],
        },
        "task_status": {"state": state, "final_signal": signal, "message": "as the simulation says"},
        "execution_summary": {"summary": "simulated", "actions": ["a"], "output_artifacts": []},
        "timing": {
            "started_at": "2026-01-01T12:00:00Z", "completed_at": "2026-01-01T12:00:01Z", "duration_seconds": 1,
        },
        "cost_tracking": {"actual_cost_usd": 0.1, "tokens_input": 100, "tokens_output": 10},
    })
}

fn progress(task: &Value) -> Value {
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "EVENT",
        "event": "PROGRESS_UPDATE", "session_id": task["session"]["session_id"], "task_id": task["task"]["task_id"],
        "timestamp": "2026-01-01T12:00:00Z", "agent": task["target"]["agent_name"],
        "progress": {"percentage": 50, "message": "half of it"},
    })
}
