//! One assignment: taken, worked on with heartbeats, and answered with a result.

use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::token::LockToken;
use contract::domain::scope::Scope;
use contract::json::Value;
use contract::secrets::Tail;
use ops::assignment::issue;
use ops::worklog::append;
use ops::{Context, Error, Result, heartbeat, watchdog};

use super::begin::{PreparedAssignment, begin};
use super::files::PacketFiles;
use super::report::WorkedTask;
use super::{WorkerEvent, WorkerObserver, WorkerSettings, answer, written};
use crate::launcher::{ChildOutput, RunError, Wish};
use crate::program::ConfinedProgram;
use crate::sandbox::OpenSandbox;
use crate::supervisor::{InForce, ProcessExit};

/// How much of the end of the output is kept for the worklog.
const TAIL_BYTES: usize = 2000;

/// An assignment that this worker holds.
pub(super) struct WorkerTurn {
    pub(super) number: u32,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) token: LockToken,
    pub(super) packet: Value,
    /// The ids of the run and of the task in the store.
    pub(super) stored_run: String,
    pub(super) stored_task: String,
    pub(super) workspace: String,
}

impl WorkerTurn {
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
pub(super) fn take(worker: &WorkerSettings, cx: &mut Context, number: u32) -> Result<WorkerTurn> {
    watchdog::sweep(cx, &worker.session.caller, &watchdog::Request { run: Some(worker.run.clone()) })?;
    let request = issue::Request {
        run: worker.run.clone(),
        task: worker.task.clone(),
        owner: Some(worker.session.caller.agent.as_str().to_owned()),
        ..issue::Request::default()
    };
    let issued = issue::issue(cx, &worker.key(number, "issue")?, &request)?.answer;
    let shown = ops::ledger::show::show(cx, &ops::ledger::show::Request { run: worker.run.clone() })?;
    let row = shown.ledger.iter().find(|row| row["task_id"] == issued.task_id.as_str());
    let task = row.and_then(|row| row["x_task"].as_str()).unwrap_or_default().to_owned();
    Ok(WorkerTurn {
        number,
        title: issued.packet["task"]["title"].as_str().unwrap_or_default().to_owned(),
        task_id: issued.task_id,
        token: issued.token,
        packet: issued.packet,
        stored_run: shown.x_run.to_string(),
        stored_task: task,
        workspace: shown.workspace,
    })
}

/// Runs the command and submits the result.
pub(super) fn work(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    observe: &mut WorkerObserver<'_>,
) -> Result<WorkedTask> {
    let begun = Instant::now();
    let command = command_line(worker);
    let mut worked = match begin(worker, cx, turn, &command) {
        Ok(prepared) => {
            let (ended, opened) = run(worker, cx, turn, prepared, observe);
            if let Some(in_force) = &ended.in_force {
                let (shown, task_id) = (turn.task_id.as_str(), turn.stored_task.as_str());
                let program = ConfinedProgram { shown, task_id, project: None, in_force };
                let lines = worker.programs.record_confinement(cx, &worker.session.caller, &program);
                lines.into_iter().for_each(|line| observe(WorkerEvent::Notice(line)));
            }
            let worked = answer::answer(worker, cx, turn, &EndedCommand { command, ..ended })?;
            // The result's file was in one of its directories.
            drop(opened);
            worked
        }
        // The assignment must not stay in progress: nothing works on it.
        Err(error) => answer::not_started(worker, cx, turn, &command, error)?,
    };
    worked.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(worked)
}

/// What is left when the command has ended. Nothing of it is running.
pub(super) struct EndedCommand {
    pub(super) before: Option<Snapshot>,
    pub(super) files: PacketFiles,
    pub(super) end: std::result::Result<ProcessExit, RunError>,
    pub(super) hold: Hold,
    pub(super) in_force: Option<InForce>,
    /// The end of its output, without secrets.
    pub(super) tail: String,
    pub(super) command: String,
}

/// Whether the assignment is still this worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Kept,
    Lost,
}

/// Runs the command to its end, with heartbeats.
fn run<'w>(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    prepared: PreparedAssignment<'w>,
    observe: &mut WorkerObserver<'_>,
) -> (EndedCommand, Option<OpenSandbox<'w>>) {
    let PreparedAssignment { before, files, attempt, launch, opened } = prepared;
    let mut beat = beating(worker, cx, turn);
    let mut tail = Tail::new(&attempt.hidden, TAIL_BYTES);
    let mut hold = Hold::Kept;
    let ended = worker.programs.run(&attempt, launch, &mut |seen| {
        match seen {
            ChildOutput::Stdout(bytes) => {
                observe(WorkerEvent::Output(bytes));
                tail.stdout(bytes);
            }
            ChildOutput::Stderr(bytes) => {
                observe(WorkerEvent::Output(bytes));
                tail.stderr(bytes);
            }
            ChildOutput::Tick if hold == Hold::Kept => hold = beat(),
            ChildOutput::Started(_) | ChildOutput::Tick => {}
        }
        match hold {
            // Another worker may hold the task already, so the command must not write.
            Hold::Lost => Wish::Kill,
            Hold::Kept => Wish::GoOn,
        }
    });
    let (end, in_force, tail) = (ended.end, ended.in_force, tail.finish());
    (EndedCommand { before, files, end, hold, in_force, tail, command: String::new() }, opened)
}

fn command_line(worker: &WorkerSettings) -> String {
    let words: Vec<String> = worker.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    written::scrubbed(&words.join(" "))
}

/// Sends heartbeats at the interval of the assignment, and more often if its timeout is short.
fn beating<'b>(
    worker: &'b WorkerSettings,
    cx: &'b mut Context,
    turn: &'b WorkerTurn,
) -> impl FnMut() -> Hold + 'b {
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
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error.code, ErrorCode::ConcurrencyConflict | ErrorCode::TaskTimeout)
}

/// Appends to the worklog. What the command line or the output says may be refused there; then an entry without these
/// texts is written, because the work and its result do not depend on them.
pub(super) fn note(
    worker: &WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    step: &str,
    entry: Value,
) -> Result<()> {
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
