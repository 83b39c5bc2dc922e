//! The result of an assignment: submitted as done or not, and what the worker reports of it.

use contract::json::Value;
use contract::operator::{Code, Outcome};
use ops::result::submit;
use ops::{Context, Error, Result};

use super::verdict::{Verdict, unfinished};
use super::{Left, Turn, is_lost, note};
use crate::commands::worker::Worker;
use crate::commands::worker::report::Worked;
use crate::commands::worker::written::{self, Unfinished};

/// Submits what the command's end means. An assignment that was lost is not answered.
pub(super) fn answer(worker: &Worker<'_>, cx: &mut Context, turn: &Turn, left: &Left) -> Result<Worked> {
    let after = cx.host().snapshot(&turn.workspace, &turn.scopes());
    let changes = written::changes(turn, left.before.as_ref(), &after);
    let (own, problem) = match left.files.read_result() {
        Ok(own) => (own, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let why = match unfinished(worker, left, own.as_ref(), problem) {
        Verdict::Lost => return Ok(lost(turn)),
        Verdict::Unfinished(why) => why,
        Verdict::Finished => {
            let submitted = finish(worker, cx, turn, (left, changes.clone(), own.as_ref()));
            match submitted {
                Ok(worked) => return Ok(worked),
                Err(error) if is_lost(&error) => return Ok(lost(turn)),
                Err(error) => refused(worker, error)?,
            }
        }
    };
    let touched = written::touched(&changes);
    let entry = written::stopped(&left.command, &touched, &why, &left.ended.tail);
    let stopped = note(worker, cx, turn, ("end", entry))
        .and_then(|()| stop(worker, cx, turn, (&why, changes, own.as_ref())));
    match stopped {
        Ok(answer) => Ok(Worked {
            status: answer.status.as_str(),
            evidence: None,
            code: Some(why.code),
            reason: why.reason,
            ..lost(turn)
        }),
        Err(error) if is_lost(&error) => Ok(lost(turn)),
        Err(error) => Err(error),
    }
}

/// Submits a blocked result because of a fault before the command was started.
pub(super) fn not_started(
    worker: &Worker<'_>,
    cx: &mut Context,
    turn: &Turn,
    (command, fault): (&str, Error),
) -> Result<Worked> {
    if is_lost(&fault) {
        return Ok(lost(turn));
    }
    let why = Unfinished {
        outcome: Outcome::Blocked,
        code: Code::MissingRequiredInput.as_str().to_owned(),
        reason: format!("the command was not started: {}", fault.message),
        next_step: "remove the fault, then plan the task again".to_owned(),
    };
    // The worklog may be what could not be written; the result says the same.
    note(worker, cx, turn, ("end", written::stopped(command, &[], &why, ""))).ok();
    match stop(worker, cx, turn, (&why, Vec::new(), None)) {
        Ok(answer) => Ok(Worked {
            status: answer.status.as_str(),
            code: Some(why.code),
            reason: why.reason,
            ..lost(turn)
        }),
        Err(error) if is_lost(&error) => Ok(lost(turn)),
        // The first fault explains the second.
        Err(_) => Err(fault),
    }
}

/// Submits a result that is not done. What the command wrote is left out if it makes the result invalid: the task must
/// not stay in progress because of it.
fn stop(
    worker: &Worker<'_>,
    cx: &mut Context,
    turn: &Turn,
    (why, changes, own): (&Unfinished, Vec<Value>, Option<&Value>),
) -> Result<submit::Answer> {
    let document = written::not_done(turn, why, changes.clone(), own);
    match send(worker, cx, turn, ("stop", document)) {
        Err(error) if own.is_some() && !is_lost(&error) && Code::parse(error.code.as_str()).is_some() => {
            send(worker, cx, turn, ("plain", written::not_done(turn, why, changes, None)))
        }
        other => other,
    }
}

/// Submits a result that is done; writ runs the task's checks meanwhile.
fn finish(
    worker: &Worker<'_>,
    cx: &mut Context,
    turn: &Turn,
    (left, changes, own): (&Left, Vec<Value>, Option<&Value>),
) -> Result<Worked> {
    let entry = written::finished(&left.command, &written::touched(&changes), &left.ended.tail);
    note(worker, cx, turn, ("finish", entry))?;
    let document = written::done(turn, &left.command, changes, own);
    let answer = send(worker, cx, turn, ("done", document))?;
    let reason = "the command exited with 0".to_owned();
    Ok(Worked { status: answer.status.as_str(), evidence: answer.evidence, code: None, reason, ..lost(turn) })
}

/// A result that writ refused: the task is not done, and the refusal says why.
fn refused(worker: &Worker<'_>, error: Error) -> Result<Unfinished> {
    let Some(code) = Code::parse(error.code.as_str()) else { return Err(error) };
    Ok(Unfinished {
        outcome: worker.args.on_failure,
        code: code.as_str().to_owned(),
        reason: error.message,
        next_step: "make the checks pass, then plan the task again".to_owned(),
    })
}

fn send(
    worker: &Worker<'_>,
    cx: &mut Context,
    turn: &Turn,
    (step, document): (&str, Value),
) -> Result<submit::Answer> {
    // What it cost is in the result, if the command said so.
    let request =
        submit::Request { document, token: Some(turn.token), cost: None, tokens: None, strict: false };
    Ok(submit::submit(cx, &worker.key(turn.number, step)?, &request)?.answer)
}

fn lost(turn: &Turn) -> Worked {
    Worked {
        task_id: turn.task_id.clone(),
        token: turn.token.number,
        status: "lost",
        evidence: None,
        code: Some(Code::TaskTimeout.as_str().to_owned()),
        reason: "the assignment is no longer this worker's, so no result was submitted".to_owned(),
        duration_ms: 0,
    }
}
