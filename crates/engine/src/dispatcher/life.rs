//! The life of an attempt, from its journal entry to its end.
//!
//! [`Dispatcher::start`] writes the attempt to the journal. From then on each report, deadline and answer leads to an
//! [`AttemptStep`], and [`Dispatcher::advance`] takes one step after the other until the attempt waits or has ended:
//!
//! ```text
//! begin ── setup commands ── executor ── returned ── checks ── merge ── judgment ── end
//!    └────────── parked ───────┘            (parked) ──┘         └─ both may wait
//! ```

mod checks;
mod conclude;
mod conclusion;
mod reports;
mod returned;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use contract::domain::limits;
use ops::Result;

use super::engine_run::EngineRun;
use super::live::{AttemptPhase, AttemptStart, ExecutorRun, Live, Pending, ReturnStep, WorkStep};
use super::processes::RunningProcess;
use super::task_work::{TaskPhase, TaskWork};
use super::{Dispatcher, calls, millis};
use crate::launcher::{Shortage, with_causes};
use crate::observer::TaskProgress;
use crate::supervisor::logs::LogWriter;
use crate::supervisor::{StartError, Stdin};
use crate::verify::{CheckOutput, Recorder};

pub(super) use conclude::report_end;

/// What an attempt does next.
pub(super) enum AttemptStep {
    /// Wait for a report, a deadline or an answer.
    Wait,
    /// Start the next setup command of its clone, or its executor.
    Begin,
    /// The process of a setup command is gone.
    SetupEnded,
    /// A process could not be started.
    Unstarted(StartError),
    /// Wait until the machine has what a process needs.
    Park(Shortage),
    /// The executor and everything it started is gone.
    Return,
    /// Run the checks from this one on.
    Check { index: usize, recorder: Box<Recorder> },
    /// The process of a check is gone.
    CheckEnded,
    /// Merge, judge and write its end.
    Conclude,
    /// Its end is written. The task may not start before this time on the boot clock.
    Ended { not_before_ms: Option<i64> },
}

impl Dispatcher<'_> {
    /// Takes this step of an attempt and those that follow, until it waits or has ended.
    pub(super) fn advance(&mut self, task: usize, mut step: AttemptStep) -> Result<()> {
        let mut not_before = None;
        loop {
            match &step {
                AttemptStep::Wait => break,
                // What cannot be started because of a signal has not failed.
                AttemptStep::Unstarted(_) => self.heed_signal(),
                AttemptStep::Park(shortage) => self.starve(*shortage),
                _ => {}
            }
            let is_shared = matches!(step, AttemptStep::Return) && self.shares_repository(task);
            let (engine, work) = (&mut self.engine, &mut self.tasks[task]);
            let Some(mut live) = work.take_live() else { break };
            step = match step {
                AttemptStep::Begin => begin(engine, work, &mut live),
                AttemptStep::SetupEnded => setup_ended(work, &mut live),
                AttemptStep::Unstarted(error) => unstarted(&mut live, &error),
                AttemptStep::Park(shortage) => park(engine, work, &mut live, shortage),
                AttemptStep::Return => returned::returned(engine, work, &mut live, is_shared)?,
                AttemptStep::Check { index, recorder } => {
                    checks::check(engine, work, &mut live, index, recorder)
                }
                AttemptStep::CheckEnded => checks::check_ended(engine, work, &mut live),
                AttemptStep::Conclude => conclude::conclude(engine, work, &mut live)?,
                AttemptStep::Wait | AttemptStep::Ended { .. } => AttemptStep::Wait,
            };
            if let AttemptStep::Ended { not_before_ms } = step {
                not_before = not_before_ms;
                break;
            }
            work.phase = TaskPhase::Live(live);
        }
        self.follow(task);
        not_before.into_iter().for_each(|at_ms| self.board.set_not_before(task, at_ms));
        Ok(())
    }

    /// Whether another live task may commit in the same repository.
    fn shares_repository(&self, task: usize) -> bool {
        let (engine, own) = (&self.engine, self.tasks[task].directory(&self.engine.run));
        let mut others = self.tasks.live().map(|(other, _)| other).filter(|other| *other != task);
        others.any(|other| {
            let other = &self.tasks[other];
            other.directory(&engine.run) == own && super::confined::may_commit(engine, other)
        })
    }

    /// Starts what is parked and due, and ends what was stopped meanwhile.
    pub(super) fn start_parked(&mut self) -> Result<()> {
        let now_ms = self.engine.now_ms();
        let is_due = |live: &Live| matches!(live.pending(), Pending::Parked(due_ms) if live.stopped.is_some() || due_ms <= now_ms);
        for task in self.tasks.live_where(is_due) {
            let step = self.tasks[task].live_mut().map_or(AttemptStep::Wait, unparked);
            self.advance(task, step)?;
        }
        self.give_up_starving(now_ms);
        Ok(())
    }
}

/// How a parked attempt goes on.
fn unparked(live: &mut Live) -> AttemptStep {
    let is_stopped = live.stopped.is_some();
    match &mut live.phase {
        AttemptPhase::Working(_) if is_stopped => AttemptStep::Return,
        AttemptPhase::Working(_) => AttemptStep::Begin,
        AttemptPhase::Returned(_) if is_stopped => AttemptStep::Conclude,
        AttemptPhase::Returned(returned) => {
            match std::mem::replace(&mut returned.step, ReturnStep::Deciding) {
                ReturnStep::Parked { index, recorder, .. } => AttemptStep::Check { index, recorder },
                step => {
                    returned.step = step;
                    AttemptStep::Wait
                }
            }
        }
    }
}

fn begin(engine: &mut EngineRun<'_>, work: &mut TaskWork, live: &mut Live) -> AttemptStep {
    let setup = work.spec().worktree.as_ref().map(|worktree| worktree.setup.as_slice());
    let ended = work.clone.as_ref().map_or(0, |isolated| isolated.clone.record.set_up);
    match setup.and_then(|setup| setup.get(ended)).cloned() {
        Some(command) => start_setup(engine, work, live, &command, ended),
        None => {
            if let Some(isolated) = &mut work.clone {
                isolated.setup_until_ms = None;
            }
            start_executor(engine, live)
        }
    }
}

fn start_setup(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
    command: &[String],
    index: usize,
) -> AttemptStep {
    let number = engine.processes.next_number();
    if live.parkings == 0 {
        let message = format!("setup: {}", command.join(" "));
        engine.observer.report(TaskProgress::Update {
            task: work.name(),
            percentage: None,
            message: &message,
        });
    }
    if let Err(shortage) = open_log(engine, live) {
        return AttemptStep::Park(shortage);
    }
    let now_ms = engine.now_ms();
    // All commands together get the time that the task gets.
    let all_ms = now_ms.saturating_add(millis(live.start.timeout));
    let all_ms = *work.clone_mut().setup_until_ms.get_or_insert(all_ms);
    let deadline_ms = now_ms.saturating_add(millis(limits::SETUP_TIMEOUT)).min(all_ms);
    let watched = Box::new(CheckOutput::of_setup(&live.start.hidden));
    let executor = live.phase.executor();
    executor.step = WorkStep::Setup { process: RunningProcess { number, deadline_ms }, index, watched };
    let mut spec = executor.launch.clone();
    spec.argv = command.iter().map(OsString::from).collect();
    spec.stdin = Stdin::Closed;
    started(engine.processes.start(number, spec))
}

fn setup_ended(work: &mut TaskWork, live: &mut Live) -> AttemptStep {
    let is_stopped = live.stopped.is_some();
    let executor = live.phase.executor();
    let step = std::mem::replace(&mut executor.step, WorkStep::Deciding);
    let WorkStep::Setup { index, watched, .. } = step else { return AttemptStep::Wait };
    if is_stopped {
        return AttemptStep::Return;
    }
    let failure = watched.failure().or_else(|| {
        let noted = work.clone_mut().clone.set_up(index + 1);
        noted.err().map(|fault| with_causes(&fault))
    });
    let Some(failure) = failure else { return AttemptStep::Begin };
    let setup = work.spec().worktree.as_ref().map(|worktree| worktree.setup[index].join(" "));
    let fault = format!("setup command `{}` failed: {failure}", setup.unwrap_or_default());
    executor.ended.fault = Some(fault);
    AttemptStep::Return
}

fn start_executor(engine: &mut EngineRun<'_>, live: &mut Live) -> AttemptStep {
    let (number, now_ms) = (engine.processes.next_number(), engine.now_ms());
    let deadline_ms = now_ms.saturating_add(millis(live.start.timeout));
    let process = RunningProcess { number, deadline_ms };
    live.phase.executor().step = WorkStep::Executing { process, last_sign_ms: now_ms };
    if let Err(shortage) = open_log(engine, live) {
        return AttemptStep::Park(shortage);
    }
    if let Err(error) = calls::open_door(engine.settings, live) {
        if let Some(shortage) = Shortage::of(error.raw_os_error()) {
            return AttemptStep::Park(shortage);
        }
        live.phase.executor().ended.fault = Some(format!("could not open its socket: {error}"));
        return AttemptStep::Return;
    }
    let spec = live.phase.executor().launch.clone();
    started(engine.processes.start(number, spec))
}

fn started(started: std::result::Result<(), StartError>) -> AttemptStep {
    started.map_or_else(AttemptStep::Unstarted, |()| AttemptStep::Wait)
}

/// A shortage parks the attempt, unless it is to be ended. Any other error ends the step.
fn unstarted(live: &mut Live, error: &StartError) -> AttemptStep {
    if let Some(shortage) = Shortage::of(error.errno())
        && live.stopped.is_none()
    {
        return AttemptStep::Park(shortage);
    }
    let fault = Some(with_causes(error));
    match &mut live.phase {
        AttemptPhase::Working(executor) => match &mut executor.step {
            WorkStep::Setup { watched, .. } => {
                watched.problem = fault;
                AttemptStep::SetupEnded
            }
            WorkStep::Deciding | WorkStep::Executing { .. } | WorkStep::Parked { .. } => {
                executor.ended.fault = fault;
                AttemptStep::Return
            }
        },
        AttemptPhase::Returned(returned) => match &mut returned.step {
            ReturnStep::Checking { watched, .. } => {
                watched.problem = fault;
                AttemptStep::CheckEnded
            }
            ReturnStep::Deciding
            | ReturnStep::Parked { .. }
            | ReturnStep::Landing { .. }
            | ReturnStep::Judging { .. } => AttemptStep::Conclude,
        },
    }
}

/// Waits before the setup command, the executor or the check is started again.
fn park(engine: &mut EngineRun<'_>, work: &TaskWork, live: &mut Live, shortage: Shortage) -> AttemptStep {
    let due_ms = engine.now_ms().saturating_add(millis(wait_after(live.parkings)));
    live.parkings = live.parkings.saturating_add(1);
    let log = log_path(engine, &live.start);
    match &mut live.phase {
        AttemptPhase::Working(executor) => {
            give_back(executor, log);
            executor.step = WorkStep::Parked { due_ms };
        }
        AttemptPhase::Returned(returned) => {
            let step = std::mem::replace(&mut returned.step, ReturnStep::Deciding);
            if let ReturnStep::Checking { index, recorder, .. } = step {
                returned.step = ReturnStep::Parked { index, recorder, due_ms };
            }
        }
    }
    if live.parkings == 1 {
        engine.observer.report(TaskProgress::Waiting { task: work.name(), awaited: shortage.as_str() });
    }
    AttemptStep::Wait
}

/// What waits holds no descriptor, or those that wait would keep all others from starting.
fn give_back(executor: &mut ExecutorRun, log: PathBuf) {
    if executor.log.take().is_some() {
        // If it stays, the attempt has no log.
        std::fs::remove_file(log).ok();
    }
    executor.door = None;
}

/// Longer with each attempt to start, up to a limit.
fn wait_after(parkings: u32) -> Duration {
    let doubled = limits::SHORTAGE_WAIT_MIN.checked_mul(1_u32.checked_shl(parkings).unwrap_or(u32::MAX));
    doubled.map_or(limits::SHORTAGE_WAIT_MAX, |wait| wait.min(limits::SHORTAGE_WAIT_MAX))
}

/// Makes the log of an attempt, if it has none. `Err` is what the machine is short of; without a log it runs too.
fn open_log(engine: &EngineRun<'_>, live: &mut Live) -> std::result::Result<(), Shortage> {
    let path = log_path(engine, &live.start);
    let AttemptPhase::Working(executor) = &mut live.phase else { return Ok(()) };
    if executor.log.is_some() {
        return Ok(());
    }
    match LogWriter::create(&path, &live.start.hidden) {
        Ok(log) => executor.log = Some(log),
        Err(error) => {
            if let Some(shortage) = Shortage::of(error.raw_os_error()) {
                return Err(shortage);
            }
        }
    }
    Ok(())
}

fn log_path(engine: &EngineRun<'_>, start: &AttemptStart) -> PathBuf {
    engine.settings.archive.logs.join(format!("{}.log", start.attempt.id))
}

#[cfg(test)]
mod tests;
