//! A crew's worker: takes assignments of a ledger, runs a command for each, and submits the results.

mod answer;
mod begin;
mod files;
mod report;
mod turn;
mod verdict;
mod wait;
mod written;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::request::RequestId;
use contract::operator::Outcome;
use ops::{Context, Error, Result, Session};

use crate::program::ProgramSettings;

pub use report::{WorkedTask, WorkerEnd, WorkerReport};

/// Where a worker takes its tasks, and which command it runs.
pub struct WorkerSettings {
    pub programs: ProgramSettings,
    /// The worker as a caller.
    pub session: Session,
    pub run: String,
    /// The only task that it takes, as operator documents name it.
    pub task: Option<String>,
    pub workspace: PathBuf,
    /// The prefix of the request ids of this worker.
    pub name: String,
    pub command: Vec<OsString>,
    pub bounds: WorkerBounds,
}

#[derive(Debug, Clone, Copy)]
pub struct WorkerBounds {
    pub tasks_max: u32,
    /// How long it waits for a task while others are in progress. `None` for not at all.
    pub wait: Option<Duration>,
    /// Of one command.
    pub timeout: Duration,
    /// The outcome of a task that could not be finished.
    pub on_failure: Outcome,
}

/// What happens in a worker.
#[derive(Debug)]
pub enum WorkerEvent<'e> {
    Taken {
        task_id: &'e str,
        token: i64,
        title: &'e str,
    },
    /// What the command printed.
    Output(&'e [u8]),
    /// A line about the worker itself.
    Notice(String),
    Worked(&'e WorkedTask),
}

/// Takes the events of a worker.
pub type WorkerObserver<'o> = dyn FnMut(WorkerEvent<'_>) + 'o;

impl WorkerSettings {
    fn key(&self, number: u32, step: &str) -> Result<Session> {
        let request_id = RequestId::parse(&format!("{}_{number}_{step}", self.name))
            .map_err(|error| Error::new(ErrorCode::Bug, error.to_string()))?;
        Ok(self.session.under(request_id))
    }
}

/// Works on one task, or on one after another.
pub fn run(
    settings: &WorkerSettings,
    cx: &mut Context,
    observe: &mut WorkerObserver<'_>,
) -> Result<WorkerReport> {
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    crate::supervisor::become_subreaper().ok();
    ops::epoch::program::enter(cx, &settings.session.caller, "worker run")?;
    let report = work(settings, cx, observe);
    // A row that stays is removed by the next program.
    ops::epoch::program::leave(cx, &settings.session.caller).ok();
    report
}

fn work(
    settings: &WorkerSettings,
    cx: &mut Context,
    observe: &mut WorkerObserver<'_>,
) -> Result<WorkerReport> {
    let mut report = WorkerReport::new(&settings.run, settings.session.caller.agent.as_str());
    let is_stopped = || settings.programs.stop.raised().is_some();
    for number in 1..=settings.bounds.tasks_max {
        let Some(turn) = wait::take(settings, cx, number)? else {
            report.end = if is_stopped() { WorkerEnd::Interrupted } else { WorkerEnd::NothingReady };
            return Ok(report);
        };
        let (task_id, token, title) = (turn.task_id.as_str(), turn.token.number, turn.title.as_str());
        observe(WorkerEvent::Taken { task_id, token, title });
        let worked = turn::work(settings, cx, &turn, observe)?;
        observe(WorkerEvent::Worked(&worked));
        report.tasks.push(worked);
        if is_stopped() {
            report.end = WorkerEnd::Interrupted;
            return Ok(report);
        }
    }
    Ok(report)
}
