//! The result of an assignment: submitted as done or not, and what the worker reports of it.

use contract::json::Value;
use contract::operator::{Code, Outcome};
use ops::result::submit;
use ops::{Context, Error, Result};

use super::WorkerSettings;
use super::report::WorkedTask;
use super::turn::{EndedCommand, WorkerTurn, is_lost, note};
use super::verdict::{WorkVerdict, unfinished};
use super::written::{self, Unfinished};

/// The parts of a result beside its outcome.
#[derive(Default)]
struct Submission<'s> {
    changes: Vec<Value>,
    /// The document that the command wrote.
    own: Option<&'s Value>,
}

/// Submits what the command's end means. An assignment that was lost is not answered.
pub(super) fn answer(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    left: &EndedCommand,
) -> Result<WorkedTask> {
    let after = cx.host().snapshot(&turn.workspace, &turn.scopes());
    let changes = written::changes(turn, left.before.as_ref(), &after);
    let (own, problem) = match left.files.read_result() {
        Ok(own) => (own, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let why = match unfinished(worker, left, own.as_ref(), problem) {
        WorkVerdict::Lost => return Ok(lost(turn)),
        WorkVerdict::Unfinished(why) => why,
        WorkVerdict::Finished => {
            let submission = Submission { changes: changes.clone(), own: own.as_ref() };
            match finish(worker, cx, turn, left, &submission) {
                Ok(worked) => return Ok(worked),
                Err(error) if is_lost(&error) => return Ok(lost(turn)),
                Err(error) => refused(worker, error)?,
            }
        }
    };
    let touched = written::touched(&changes);
    let entry = written::stopped(&left.command, &touched, &why, &left.tail);
    let submission = Submission { changes, own: own.as_ref() };
    let stopped =
        note(worker, cx, turn, "end", entry).and_then(|()| stop(worker, cx, turn, &why, &submission));
    match stopped {
        Ok(answer) => Ok(WorkedTask {
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
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    command: &str,
    fault: Error,
) -> Result<WorkedTask> {
    if is_lost(&fault) {
        return Ok(lost(turn));
    }
    let why = Unfinished {
        outcome: Outcome::Blocked,
        code: Code::MissingRequiredInput.as_str().to_owned(),
        reason: format!("the command was not started: {}", fault.message),
        next_step: "remove the fault, then plan the task again".to_owned(),
    };
    // The worklog may be the part that could not be written; the result has the same text.
    note(worker, cx, turn, "end", written::stopped(command, &[], &why, "")).ok();
    match stop(worker, cx, turn, &why, &Submission::default()) {
        Ok(answer) => Ok(WorkedTask {
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
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    why: &Unfinished,
    submission: &Submission<'_>,
) -> Result<submit::Answer> {
    let document = written::not_done(turn, why, submission.changes.clone(), submission.own);
    match send(worker, cx, turn, "stop", document) {
        Err(error)
            if submission.own.is_some() && !is_lost(&error) && Code::parse(error.code.as_str()).is_some() =>
        {
            let document = written::not_done(turn, why, submission.changes.clone(), None);
            send(worker, cx, turn, "plain", document)
        }
        other => other,
    }
}

/// Submits a result that is done; writ runs the task's checks meanwhile.
fn finish(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    left: &EndedCommand,
    submission: &Submission<'_>,
) -> Result<WorkedTask> {
    let entry = written::finished(&left.command, &written::touched(&submission.changes), &left.tail);
    note(worker, cx, turn, "finish", entry)?;
    let document = written::done(turn, &left.command, submission.changes.clone(), submission.own);
    let answer = send(worker, cx, turn, "done", document)?;
    let reason = "the command exited with 0".to_owned();
    Ok(WorkedTask {
        status: answer.status.as_str(),
        evidence: answer.evidence,
        code: None,
        reason,
        ..lost(turn)
    })
}

/// A result that writ refused: the task is not done, with the refusal as the reason.
fn refused(worker: &WorkerSettings, error: Error) -> Result<Unfinished> {
    let Some(code) = Code::parse(error.code.as_str()) else { return Err(error) };
    Ok(Unfinished {
        outcome: worker.bounds.on_failure,
        code: code.as_str().to_owned(),
        reason: error.message,
        next_step: "make the checks pass, then plan the task again".to_owned(),
    })
}

fn send(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    step: &str,
    document: Value,
) -> Result<submit::Answer> {
    // What it cost is in the result, if the command said so.
    let request =
        submit::Request { document, token: Some(turn.token), cost: None, tokens: None, strict: false };
    Ok(submit::submit(cx, &worker.key(turn.number, step)?, &request)?.answer)
}

fn lost(turn: &WorkerTurn) -> WorkedTask {
    WorkedTask {
        task_id: turn.task_id.clone(),
        token: turn.token.number,
        status: "lost",
        evidence: None,
        code: Some(Code::TaskTimeout.as_str().to_owned()),
        reason: "the assignment is no longer this worker's, so no result was submitted".to_owned(),
        duration_ms: 0,
    }
}
