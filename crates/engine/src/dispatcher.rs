//! The loop that works one run. Every report, deadline and request passes here, in order, on one thread.
//!
//! [`TaskWork`] is one task, [`EngineRun`] what all tasks of the run share, `life.rs` the life of an attempt.

mod aborts;
mod advice;
mod audit;
pub(crate) mod busy_store;
mod calls;
mod claims;
pub(crate) mod confined;
mod cost;
mod directories;
mod engine_run;
mod escalation;
pub(crate) mod inputs;
pub(crate) mod isolated;
mod layers;
mod leftovers;
mod life;
mod limited;
mod live;
pub(crate) mod pins;
mod processes;
mod progress;
pub(crate) mod rollback;
#[cfg(test)]
mod samples;
pub(crate) mod selection;
mod shortage;
pub(crate) mod snapshot_strategies;
mod start;
mod task_work;
pub(crate) mod waiting;
pub(crate) mod watching;

use std::collections::BTreeSet;
use std::time::Duration;

use contract::domain::attempt::Attempt;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::reason::Reason;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::Task;
use ops::Result;

use crate::executor::Stopped;
use crate::observer::TaskProgress;
use crate::pipeline::{Mark, Pipeline};
use crate::scheduler::{Board, BoardStep};
use crate::verify::CheckLocation;
use live::Live;
use shortage::Starving;
use waiting::Watchdog;

pub(crate) use engine_run::{Committed, EngineParts, EngineRun};
pub(crate) use task_work::{TaskSet, TaskWork};

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finished {
    /// Every task is settled, or waits for a person.
    Settled,
    Canceled,
    Interrupted(i32),
}

pub(crate) struct Dispatcher<'d> {
    pub(crate) engine: EngineRun<'d>,
    pub(crate) tasks: TaskSet,
    board: Board,
    clock: LoopClock,
    watchdog: Watchdog,
    /// The last change of a priority that the board has seen.
    priorities_seen: i64,
    /// While nothing can be started.
    starving: Option<Starving>,
    /// Tasks with a failure that ends all others.
    aborting: Vec<usize>,
}

/// When the loop last did what it does at intervals, on the boot clock.
struct LoopClock {
    /// Renewed the lease of the run.
    renewed_ms: i64,
    /// Looked for requests in the store.
    polled_ms: i64,
    /// How long this process was stopped until then.
    paused_ms: i64,
}

impl<'d> Dispatcher<'d> {
    pub(crate) fn new(
        parts: EngineParts<'d>,
        run: Run,
        pipeline: Pipeline,
        tasks: Vec<(Task, Vec<Attempt>)>,
    ) -> Self {
        let tasks = TaskSet::new(tasks);
        let now = parts.cx.now();
        let now_ms = now.boot.millis;
        let board = waiting::board(&*parts.cx.host(), &run, &tasks, &now);
        let scratch: BTreeSet<Scope> =
            tasks.iter().flat_map(|work| work.spec().scratch.iter().cloned()).collect();
        let paused_ms = parts.settings.launcher.paused_ms();
        Self {
            engine: EngineRun::new(parts, run, pipeline, scratch.into_iter().collect()),
            board,
            clock: LoopClock { renewed_ms: now_ms, polled_ms: now_ms, paused_ms },
            watchdog: Watchdog::new(now_ms),
            priorities_seen: 0,
            starving: None,
            aborting: aborts::aborting(&tasks),
            tasks,
        }
    }

    /// Offers tasks in this order from here on.
    pub(crate) fn offer(&mut self, order: Vec<usize>) {
        self.board.offer(&order);
    }

    /// Works until nothing is left to do or a request to stop came. No child is left when it returns.
    pub(crate) fn work(&mut self) -> Result<Finished> {
        let finished = self.work_on();
        if finished.is_err() {
            // What happened to the attempts is decided by the next engine of the run.
            self.engine.processes.end_all();
        }
        self.clear_all_away();
        finished
    }

    fn work_on(&mut self) -> Result<Finished> {
        self.look_at_locks()?;
        self.look_at_priorities()?;
        loop {
            let has_looked = self.heed_requests()?;
            if !self.is_stopping() && self.engine.ends_early.starved.is_none() {
                if has_looked {
                    self.look_after_others()?;
                    self.look_at_locks()?;
                }
                self.heed_aborts()?;
                self.take_steps()?;
            }
            let now_ms = self.engine.now_ms();
            if !self.tasks.is_any_live() {
                self.end_starved()?;
                if let Some(finished) = self.stop_requested() {
                    return Ok(finished);
                }
                if self.board.is_settled(now_ms) {
                    return Ok(Finished::Settled);
                }
            }
            self.turn()?;
        }
    }

    /// Waits for one report, at most until the next deadline, and handles it. Then handles answers of slow layers.
    pub(crate) fn turn(&mut self) -> Result<()> {
        self.clear_away();
        self.allow_for_pauses();
        let patience = self.patience(self.engine.now_ms());
        match self.engine.processes.next(patience) {
            Some((process, report)) => {
                // The signal comes first: what ends because of it has not failed.
                self.heed_signal();
                self.take_report(process, report)?;
            }
            None => self.engine.observer.tick(),
        }
        self.allow_for_pauses();
        self.enforce_deadlines()?;
        self.write_progress()?;
        self.start_parked()?;
        self.take_answers()
    }

    /// Moves every deadline of what runs or waits: while this process and its children were stopped, or a write waited
    /// for the store, no time passed for them.
    fn allow_for_pauses(&mut self) {
        let paused_ms = self.engine.settings.launcher.paused_ms();
        let longer_ms = paused_ms - std::mem::replace(&mut self.clock.paused_ms, paused_ms);
        let longer_ms = longer_ms.saturating_add(std::mem::take(&mut self.engine.waited_ms));
        if longer_ms > 0 {
            self.tasks.iter_mut().for_each(|work| work.postpone(longer_ms));
        }
    }

    /// Reads a task again after it was changed, and keeps the board in step.
    pub(crate) fn refresh(&mut self, task: usize) -> Result<()> {
        self.tasks[task].refresh(&mut self.engine)?;
        self.follow(task);
        Ok(())
    }

    /// Reads a task and its attempts again, and keeps the board in step.
    pub(crate) fn reload(&mut self, task: usize) -> Result<()> {
        self.tasks[task].reload(&mut self.engine)?;
        self.follow(task);
        Ok(())
    }

    /// Brings the board and the set of live tasks to what a task is now.
    pub(crate) fn follow(&mut self, task: usize) {
        self.tasks.follow(task);
        let stored = &self.tasks[task].task;
        self.board.set_status(task, stored.status);
        self.board.set_priority(task, Priority::from_number(stored.priority));
    }

    /// Whether no other process moved the task while it waited. The board learns of it either way.
    fn still_waits(&mut self, task: usize) -> Result<bool> {
        self.refresh(task)?;
        Ok(self.tasks[task].task.status == Status::Todo)
    }

    /// Moves a task that has no live attempt, and writes everything since the mark. False if another process moved it
    /// in the last moment.
    fn settle(&mut self, task: usize, to: Status, reason: Reason, mark: Mark) -> Result<bool> {
        let entry = self.tasks[task].move_to(to, Some(reason));
        self.engine.note(entry);
        let is_written = self.engine.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if is_written {
            life::report_end(&mut self.engine, &self.tasks[task], Duration::ZERO);
        }
        Ok(is_written)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_requested().is_some()
    }

    /// How the loop ends once nothing is live. A canceled run must not come back when an interrupted one is continued,
    /// so canceling comes first.
    pub(crate) fn stop_requested(&self) -> Option<Finished> {
        if self.engine.is_canceled() {
            return Some(Finished::Canceled);
        }
        self.engine.settings.stop.raised().map(Finished::Interrupted)
    }

    fn take_steps(&mut self) -> Result<()> {
        loop {
            let now_ms = self.engine.now_ms();
            let steps = self.board.steps(now_ms);
            if steps.is_empty() {
                return Ok(());
            }
            // What became more urgent before a task starts goes first.
            if self.hear_escalations()? {
                continue;
            }
            self.board.note(&steps, now_ms);
            for step in steps {
                // Starting many takes a while; after a signal the rest is not started.
                if self.engine.settings.stop.raised().is_some() {
                    return Ok(());
                }
                match step {
                    BoardStep::Start(task) => self.start(task)?,
                    BoardStep::Skip { task, because } => self.skip(task, because)?,
                }
            }
        }
    }

    fn skip(&mut self, task: usize, because: usize) -> Result<()> {
        if !self.still_waits(task)? {
            return Ok(());
        }
        let needed = &self.tasks[because];
        let mut reason = Reason::new(format!("dependency `{}` is {}", needed.name(), needed.task.status));
        reason.code = self.tasks[task].asked().map(|_| FailureCode::DependencyFailed.into());
        let mark = self.engine.pipeline.mark();
        self.settle(task, Status::Canceled, reason, mark).map(drop)
    }

    fn heed_signal(&mut self) {
        if let Some(signal) = self.engine.settings.stop.raised() {
            self.stop_all(Stopped::Interrupted, Some(signal));
        }
    }

    /// Signals, and what other processes wrote into the store: a canceled run, a canceled task, another priority.
    /// Returns whether it was time to look there again.
    pub(crate) fn heed_requests(&mut self) -> Result<bool> {
        self.allow_for_pauses();
        self.heed_signal();
        let now_ms = self.engine.now_ms();
        if now_ms - self.clock.renewed_ms >= millis(limits::OWNER_RENEWAL) {
            self.beat(now_ms)?;
        }
        if now_ms - self.clock.polled_ms < millis(limits::POLL_INTERVAL) {
            return Ok(false);
        }
        self.clock.polled_ms = now_ms;
        let run = &self.engine.run.asked.id;
        let stored = ops::run::show::state(self.engine.cx, run)?;
        if stored.owner.as_ref() != Some(&self.engine.owner) {
            return Err(ops::run::journal::taken(run));
        }
        if stored.cancel_requested {
            self.engine.note_cancel()?;
            self.stop_all(Stopped::Canceled, None);
        }
        self.hear_heartbeats(now_ms)?;
        self.hear_escalations()?;
        for task in self.tasks.live_where(|_| true) {
            let work = &mut self.tasks[task];
            let stored = ops::task::get::by_id(self.engine.cx, work.task.id.as_str())?;
            if stored.status == Status::Canceled
                && let Some(live) = work.live_mut()
            {
                live.stop(Stopped::Canceled, &self.engine.processes);
            }
        }
        Ok(true)
    }

    /// Tasks that an agent has taken are its own to finish; the board only has to see it. One that its agent left has
    /// an unknown outcome and is left for a person.
    fn look_after_others(&mut self) -> Result<()> {
        let others: Vec<usize> =
            self.board.busy().filter(|&task| self.tasks[task].live().is_none()).collect();
        for task in others {
            self.refresh(task)?;
            let work = &self.tasks[task];
            let is_held = work.task.live_claim(&self.engine.cx.now()).is_some();
            if work.task.status != Status::InProgress || is_held {
                continue;
            }
            let mark = self.engine.pipeline.mark();
            let reason = "unknown: the agent that had taken it went away".into();
            self.engine.note(work.move_to(Status::Blocked, Some(reason)));
            self.engine.commit_unless_moved(mark)?;
            self.refresh(task)?;
        }
        Ok(())
    }

    fn stop_all(&mut self, why: Stopped, signal: Option<i32>) {
        let insists = self.engine.settings.stop.insists();
        let processes = &self.engine.processes;
        let mut is_first = false;
        self.tasks.for_each_live(|live| {
            is_first |= live.stopped.is_none();
            live.stop(why, processes);
            if insists {
                live.process().into_iter().for_each(|process| processes.kill(process));
            }
        });
        if is_first {
            self.engine.observer.report(TaskProgress::Stopping { signal });
        }
    }

    /// Until the next deadline, at most one poll interval.
    fn patience(&self, now_ms: i64) -> Duration {
        let live = self.tasks.live().map(|(_, live)| Live::next_due_ms(live));
        let next = live.chain(self.board.next_due_ms(now_ms)).map(|at| at.saturating_sub(now_ms)).min();
        let next = Duration::from_millis(u64::try_from(next.unwrap_or(i64::MAX).max(1)).unwrap_or(1));
        next.min(limits::POLL_INTERVAL)
    }
}

/// Where the checks of a task run.
fn check_location<'w>(engine: &'w EngineRun<'_>, work: &'w TaskWork) -> CheckLocation<'w> {
    CheckLocation {
        launcher: &*engine.settings.launcher,
        workspace: work.directory(&engine.run),
        index: &engine.settings.index,
        environment: &engine.settings.environment,
        author: engine.run.asked.environment.as_ref(),
        task_env: work.task_env(),
        scopes: &work.spec().writes,
        wanted: confined::wanted(engine, work),
        sandbox: &engine.settings.sandbox,
        task: work.task.id.as_str(),
    }
}

pub(crate) fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
