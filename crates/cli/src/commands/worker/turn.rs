//! One assignment: taken, worked on with heartbeats, and answered with a result.

use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::limits;
use contract::domain::scope::Scope;
use contract::domain::time::human_duration;
use contract::json::Value;
use contract::operator::{Code, Outcome};
use engine::supervisor::Exit;
use ops::assignment::{issue, show};
use ops::result::submit;
use ops::worklog::append;
use ops::{Context, Error, Result, heartbeat, watchdog};

use super::Worker;
use super::child::{self, Child, Ended, Ending, Hold};
use super::files::Files;
use super::report::Worked;
use super::written::{self, Unfinished};
use crate::env;

/// An assignment that this worker holds.
pub(super) struct Turn {
    number: u32,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) token: i64,
    pub(super) packet: Value,
    /// The run's and the task's ids in the store.
    ids: (String, String),
    workspace: String,
}

impl Turn {
    /// The paths that the task may change.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let paths = self.packet["task"]["lock_scope"].as_array().into_iter().flatten();
        let paths = paths.filter_map(Value::as_str);
        paths.filter_map(|path| Scope::parse(path, Some(&self.workspace)).ok()).collect()
    }

    fn seconds(&self, field: &str) -> Option<Duration> {
        self.packet["task"][field].as_u64().map(Duration::from_secs)
    }
}

/// Takes an assignment. What silent workers hold is released first.
pub(super) fn take(worker: &Worker<'_>, cx: &mut Context, number: u32) -> Result<Turn> {
    watchdog::sweep(cx, &worker.caller, &watchdog::Request { run: Some(worker.run.clone()) })?;
    let request = issue::Request {
        run: worker.run.clone(),
        task: worker.args.task.clone(),
        owner: Some(worker.caller.agent.as_str().to_owned()),
        ..issue::Request::default()
    };
    let issued = issue::issue(cx, &worker.key(number, "issue")?, &request)?.answer;
    let shown = ops::ledger::show::show(cx, &ops::ledger::show::Request { run: worker.run.clone() })?;
    let row = shown.ledger.iter().find(|row| row["task_id"] == issued.task_id.as_str());
    let task = row.and_then(|row| row["x_task"].as_str()).unwrap_or_default().to_owned();
    Ok(Turn {
        number,
        title: issued.packet["task"]["title"].as_str().unwrap_or_default().to_owned(),
        task_id: issued.task_id,
        token: issued.token,
        packet: issued.packet,
        ids: (shown.x_run.to_string(), task),
        workspace: shown.workspace,
    })
}

/// Runs the command and submits the result.
pub(super) fn work(worker: &Worker<'_>, cx: &mut Context, turn: &Turn) -> Result<Worked> {
    let begun = Instant::now();
    let command = command_line(worker);
    note(worker, cx, turn, ("begin", written::begun(&command)))?;
    let before = snapshot(worker, cx, turn)?;
    let files = Files::write(&turn.packet)?;
    let ended = child::run(child(worker, turn, &files), &worker.stop, beating(worker, cx, turn));
    let mut worked = answer(worker, cx, turn, &Left { before, files, ended, command })?;
    worked.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(worked)
}

/// What is left when the command has ended.
struct Left {
    before: Option<Snapshot>,
    files: Files,
    ended: Ended,
    command: String,
}

fn command_line(worker: &Worker<'_>) -> String {
    let words: Vec<String> =
        worker.args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    written::scrubbed(&words.join(" "))
}

/// The files in scope before the command began.
fn snapshot(worker: &Worker<'_>, cx: &mut Context, turn: &Turn) -> Result<Option<Snapshot>> {
    let request = show::Request { run: worker.run.clone(), task: turn.task_id.clone() };
    Ok(show::show(cx, &request)?.snapshot)
}

fn child(worker: &Worker<'_>, turn: &Turn, files: &Files) -> Child {
    let mut environment = env::inherited();
    // What the command calls must find the same store, under the same identity.
    let own = [
        ("WRIT_DB", worker.store.clone().into_os_string()),
        ("WRIT_AGENT", worker.caller.agent.as_str().into()),
        ("WRIT_OUTPUT", "json".into()),
        ("WRIT_RUN", turn.ids.0.clone().into()),
        ("WRIT_TASK", turn.ids.1.clone().into()),
        ("WRIT_RUN_ID", worker.run.clone().into()),
        ("WRIT_TASK_ID", turn.task_id.clone().into()),
        ("WRIT_ASSIGNMENT", turn.token.to_string().into()),
        ("WRIT_PACKET", files.packet().into_os_string()),
        ("WRIT_RESULT", files.result().into_os_string()),
        ("WRIT_WORKSPACE", turn.workspace.clone().into()),
    ];
    environment.extend(own.map(|(name, value)| (name.into(), value)));
    Child {
        argv: worker.args.command.clone(),
        directory: worker.workspace.clone(),
        environment,
        input: format!("{}\n", turn.packet).into_bytes(),
        timeout: worker.args.timeout.unwrap_or(limits::TASK_TIMEOUT_MAX),
    }
}

/// Sends heartbeats at the interval of the assignment, and more often if its timeout is short.
fn beating<'b>(worker: &'b Worker<'_>, cx: &'b mut Context, turn: &'b Turn) -> impl FnMut() -> Hold + 'b {
    let timeout = turn.seconds("timeout_seconds").unwrap_or(Duration::MAX);
    let interval = turn.seconds("heartbeat_interval_seconds").unwrap_or(timeout).min(timeout / 3);
    let request = heartbeat::Request {
        run: worker.run.clone(),
        task: turn.task_id.clone(),
        token: turn.token,
        at: None,
    };
    let mut last = Instant::now();
    move || {
        if last.elapsed() < interval {
            return Hold::Kept;
        }
        last = Instant::now();
        match heartbeat::send(cx, &worker.caller, &request) {
            Err(error) if is_lost(&error) => Hold::Lost,
            // One that failed for another reason is sent again at the next interval, before the timeout.
            Ok(_) | Err(_) => Hold::Kept,
        }
    }
}

/// Whether the assignment is no longer this worker's.
fn is_lost(error: &Error) -> bool {
    matches!(error.code, ErrorCode::ConcurrencyConflict | ErrorCode::TaskTimeout)
}

/// Submits what the command's end means. An assignment that was lost is not answered.
fn answer(worker: &Worker<'_>, cx: &mut Context, turn: &Turn, left: &Left) -> Result<Worked> {
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

/// What the end of the command means.
enum Verdict {
    Finished,
    Unfinished(Unfinished),
    Lost,
}

fn unfinished(worker: &Worker<'_>, left: &Left, own: Option<&Value>, problem: Option<String>) -> Verdict {
    let text = |name: &str| own.and_then(|own| own[name].as_str()).filter(|text| !text.trim().is_empty());
    let said = text("status").and_then(Outcome::parse);
    let stop = |code: Code, reason: String, next_step: &str| {
        let code = text("x_code").and_then(Code::parse).filter(|code| *code != Code::Ok).unwrap_or(code);
        let next_step = text("x_next_step").unwrap_or(next_step).to_owned();
        let outcome = said.filter(|said| *said != Outcome::Done).unwrap_or(worker.args.on_failure);
        Verdict::Unfinished(Unfinished { outcome, code: code.as_str().to_owned(), reason, next_step })
    };
    let fields = own.map(written::refused_fields).unwrap_or_default();
    match &left.ended.ending {
        Ending::LeaseLost => Verdict::Lost,
        Ending::Interrupted => {
            stop(Code::TaskTimeout, "the worker was interrupted".to_owned(), "assign the task again")
        }
        Ending::Timeout => {
            let after = human_duration(worker.args.timeout.unwrap_or(limits::TASK_TIMEOUT_MAX));
            stop(Code::TaskTimeout, format!("the command did not end within {after}"), "give it more time")
        }
        Ending::Fault(message) => {
            let reason = format!("the command failed: {message}");
            stop(Code::MissingRequiredInput, reason, "repair the worker's command")
        }
        Ending::Exited(Exit::Code(0)) => match (problem, said) {
            (Some(problem), _) => stop(Code::SchemaInvalid, problem, "correct what the command writes"),
            (None, _) if !fields.is_empty() => {
                let reason =
                    format!("WRIT_RESULT sets {}, which belong to the assignment", fields.join(", "));
                stop(Code::SchemaInvalid, reason, "correct what the command writes")
            }
            (None, Some(Outcome::Blocked | Outcome::Failed)) => {
                let notes = own.and_then(|own| own["notes_for_orchestrator"][0].as_str());
                let reason = notes.unwrap_or("the command reported that it could not finish");
                stop(
                    Code::MissingRequiredInput,
                    reason.to_owned(),
                    "read the worklog, then plan the task again",
                )
            }
            (None, Some(Outcome::Done) | None) => Verdict::Finished,
        },
        Ending::Exited(Exit::Code(code)) => {
            let reason = format!("the command exited with {code}");
            stop(Code::AcceptanceFailed, reason, "read the output, then plan the task again")
        }
        Ending::Exited(Exit::Signal(signal)) => {
            let reason = format!("the command was killed by signal {signal}");
            stop(Code::AcceptanceFailed, reason, "read the output, then plan the task again")
        }
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

fn note(worker: &Worker<'_>, cx: &mut Context, turn: &Turn, (step, entry): (&str, Value)) -> Result<()> {
    let request = append::Request {
        run: worker.run.clone(),
        task: turn.task_id.clone(),
        token: Some(turn.token),
        entry,
        strict: false,
    };
    append::append(cx, &worker.key(turn.number, step)?, &request).map(|_| ())
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
        token: turn.token,
        status: "lost",
        evidence: None,
        code: Some(Code::TaskTimeout.as_str().to_owned()),
        reason: "the assignment is no longer this worker's, so no result was submitted".to_owned(),
        duration_ms: 0,
    }
}
