//! One assignment: taken, worked on with heartbeats, and answered with a result.

mod answer;
mod begin;
mod verdict;

use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::token::LockToken;
use contract::domain::scope::Scope;
use contract::json::Value;
use ops::assignment::issue;
use ops::worklog::append;
use ops::{Context, Error, Result, heartbeat, watchdog};

use super::Worker;
use super::child::{self, Ended, Hold};
use super::files::Files;
use super::report::Worked;
use super::written;
use crate::confined::{self, ConfinedTask};
use begin::{PreparedAssignment, begin};

/// An assignment that this worker holds.
pub(super) struct Turn {
    number: u32,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) token: LockToken,
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
        task: worker.task.clone(),
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
    let mut worked = match begin(worker, cx, turn, &command) {
        Ok(PreparedAssignment { before, files, child, opened }) => {
            let ended = child::run(child, &turn.token, &worker.stop, beating(worker, cx, turn));
            if let (Some(sandboxes), Some(in_force)) = (&worker.sandboxes, &ended.in_force) {
                let task = ConfinedTask { shown: &turn.task_id, id: &turn.ids.1, project: None };
                confined::tell(cx, &worker.caller, &task, (sandboxes, in_force));
            }
            let worked = answer::answer(worker, cx, turn, &Left { before, files, ended, command })?;
            // The result's file was in one of its directories.
            drop(opened);
            worked
        }
        // The assignment must not stay in progress: nothing works on it.
        Err(error) => answer::not_started(worker, cx, turn, (&command, error))?,
    };
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

/// Sends heartbeats at the interval of the assignment, and more often if its timeout is short.
fn beating<'b>(worker: &'b Worker<'_>, cx: &'b mut Context, turn: &'b Turn) -> impl FnMut() -> Hold + 'b {
    let timeout = turn.seconds("timeout_seconds").unwrap_or(Duration::MAX);
    let interval = turn.seconds("heartbeat_interval_seconds").unwrap_or(timeout).min(timeout / 3);
    let request = heartbeat::Request {
        run: worker.run.clone(),
        task: turn.task_id.clone(),
        token: Some(turn.token),
        at: None,
    };
    let mut last = Instant::now();
    move || {
        if last.elapsed() < interval {
            return Hold::Kept;
        }
        last = Instant::now();
        match heartbeat::send(cx, &worker.session, &request) {
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

/// Appends to the worklog. What the command line or the output says may be refused there; then an entry without these
/// texts is written, because the work and its result do not depend on them.
fn note(worker: &Worker<'_>, cx: &mut Context, turn: &Turn, (step, entry): (&str, Value)) -> Result<()> {
    let plain = written::without_texts(&entry);
    let append = |cx: &mut Context, entry| {
        let request = append::Request {
            run: worker.run.clone(),
            task: turn.task_id.clone(),
            token: Some(turn.token),
            entry,
            strict: false,
        };
        append::append(cx, &worker.key(turn.number, step)?, &request).map(|_| ())
    };
    match append(cx, entry) {
        Err(error) if error.code == ErrorCode::UntrustedContextBlock => append(cx, plain),
        other => other,
    }
}
