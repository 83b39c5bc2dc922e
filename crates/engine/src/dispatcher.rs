//! The loop that works one run. Every report, deadline and request passes here, in order, on one thread.

mod aborts;
mod advice;
mod audit;
pub(crate) mod busy_store;
mod calls;
mod claims;
mod conclude;
mod conclusion;
mod cost;
mod directories;
mod escalation;
pub(crate) mod inputs;
mod isolated;
mod layers;
mod leftovers;
mod limited;
mod parked;
mod pins;
mod progress;
mod reports;
pub(crate) mod rollback;
mod selection;
mod setup;
pub(crate) mod snapshot_strategies;
mod start;
mod waiting;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use contract::aop::Code;
use contract::aop::task::Task as AopTask;
use contract::domain::attempt::Attempt;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::run::{Owner, Run};
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::{PlanPart, Task};
use ops::crew::Obstacle;
use ops::run::journal::{Entry, Written};
use ops::{Caller, Context, Error, Result};

use crate::executor::Stopped;
use crate::launcher::Children;
use crate::live::Live;
use crate::observer::{Observer, Progress};
use crate::pipeline::{Mark, Pipeline};
use crate::progress_log::ProgressLog;
use crate::scheduler::{Board, Step};
use crate::settings::Settings;
use crate::verify::CheckLocation;
use isolated::Isolated;
use leftovers::Leftover;
use parked::Starving;
use waiting::Waiting;
use watching::Watch;

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finished {
    /// Every task is settled, or waits for a person.
    Settled,
    Canceled,
    Interrupted(i32),
}

pub(crate) struct Dispatcher<'d> {
    pub(crate) cx: &'d mut Context,
    pub(crate) settings: &'d Settings,
    pub(crate) observer: &'d mut dyn Observer,
    pub(crate) run: Run,
    pub(crate) owner: Owner,
    pub(crate) caller: Caller,
    pub(crate) pipeline: Pipeline,
    pub(crate) tasks: Vec<Task>,
    pub(crate) attempts: Vec<Vec<Attempt>>,
    /// The submitted AOP TASK of each task that has one.
    aop: Vec<Option<Box<AopTask>>>,
    board: Board,
    live: BTreeMap<usize, Live>,
    /// What ended attempts and tasks left, to be removed before the next wait.
    leftovers: Vec<Leftover>,
    children: Box<dyn Children>,
    /// How many processes were started. Each is known by its number.
    processes: u64,
    renewed_ms: i64,
    polled_ms: i64,
    /// The last change of a priority that the board has seen.
    priorities_seen: i64,
    canceled: bool,
    /// Why it was canceled, where somebody said so.
    cancel_reason: Option<String>,
    /// The numbers under which tasks hold what they write.
    pub(crate) held: BTreeMap<usize, i64>,
    /// Tasks that could start but for something that others have.
    waiting: BTreeMap<usize, Waiting>,
    /// Tasks that began and have not ended, whose changes are compared with their scope.
    watches: BTreeMap<usize, Watch>,
    /// The scratch of every task. Changes there never count.
    scratch: Vec<Scope>,
    /// Tasks that work in clones of their own.
    clones: BTreeMap<usize, Isolated>,
    /// From when on this engine can tell who is silent.
    watches_from_ms: i64,
    watched_ms: i64,
    /// How long this process was stopped when that was last looked at.
    paused_ms: i64,
    /// While nothing can be started.
    starving: Option<Starving>,
    /// Why the run is given up, once it is.
    starved: Option<Error>,
    /// What tasks reported about their progress.
    progress: BTreeMap<usize, ProgressLog>,
    /// Tasks whose failure ends all others.
    aborting: Vec<usize>,
    /// Why all others are ended, once one of those has failed.
    aborted: Option<String>,
    /// The audit files of the run's AOP session; `None` if there are none.
    audit: Option<audit::AuditTrail>,
}

/// What became of entries that were to be written.
pub(crate) enum Committed {
    /// They are, with the number of the grant where locks were taken.
    All(Option<i64>),
    /// Nothing is: somebody else moved a task in the last moment.
    Moved,
    /// Nothing is: an attempt cannot begin.
    Hindered(Obstacle),
    /// Nothing is: what the task held was taken back.
    Fenced,
}

/// Who works the run, and for whom it is watched.
pub(crate) struct EngineParts<'d> {
    pub(crate) cx: &'d mut Context,
    pub(crate) settings: &'d Settings,
    pub(crate) observer: &'d mut dyn Observer,
    pub(crate) owner: Owner,
    pub(crate) caller: Caller,
}

impl<'d> Dispatcher<'d> {
    pub(crate) fn new(
        parts: EngineParts<'d>,
        run: Run,
        pipeline: Pipeline,
        tasks: Vec<(Task, Vec<Attempt>)>,
    ) -> Self {
        let (tasks, attempts): (Vec<_>, Vec<_>) = tasks.into_iter().unzip();
        let now = parts.cx.now();
        let board = waiting::board((&*parts.cx.host(), &run), &tasks, &attempts, &now);
        let renewed_ms = now.boot.millis;
        let canceled = run.cancel_requested;
        let planned = tasks.iter().filter_map(|task| task.part.as_ref());
        let scratch: BTreeSet<Scope> = planned.flat_map(|part| part.spec.scratch.iter().cloned()).collect();
        let scratch = scratch.into_iter().collect();
        let aop = tasks.iter().map(submitted).collect();
        let aborting = aborts::aborting(&tasks);
        Self {
            cx: parts.cx,
            settings: parts.settings,
            observer: parts.observer,
            run,
            owner: parts.owner,
            caller: parts.caller,
            pipeline,
            tasks,
            attempts,
            aop,
            board,
            live: BTreeMap::new(),
            leftovers: Vec::new(),
            children: parts.settings.launcher.children(),
            processes: 0,
            renewed_ms,
            polled_ms: renewed_ms,
            priorities_seen: 0,
            canceled,
            cancel_reason: None,
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            watches: BTreeMap::new(),
            scratch,
            clones: BTreeMap::new(),
            watches_from_ms: renewed_ms,
            watched_ms: renewed_ms,
            paused_ms: parts.settings.launcher.paused_ms(),
            starving: None,
            starved: None,
            progress: BTreeMap::new(),
            aborting,
            aborted: None,
            audit: None,
        }
    }

    /// Offers tasks in this order from here on.
    pub(crate) fn offer(&mut self, order: Vec<usize>) {
        self.board.offer(&order);
    }

    /// Works until nothing is left to do or someone asked to stop. No child is left when it returns.
    pub(crate) fn work(&mut self) -> Result<Finished> {
        let finished = self.work_on();
        if finished.is_err() {
            // What happened to the attempts is decided by the next engine of the run.
            self.children.end_all();
        }
        self.clear_all_away();
        finished
    }

    fn work_on(&mut self) -> Result<Finished> {
        self.look_at_locks()?;
        self.look_at_priorities()?;
        loop {
            let has_looked = self.heed_requests()?;
            if !self.is_stopping() && self.starved.is_none() {
                if has_looked {
                    self.look_after_others()?;
                    self.look_at_locks()?;
                }
                self.heed_aborts()?;
                self.take_steps()?;
            }
            let now_ms = self.now_ms();
            if self.live.is_empty() {
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
        self.prepare_next();
        self.allow_for_pauses();
        let patience = self.patience(self.now_ms());
        match self.children.next(patience) {
            Some((process, report)) => {
                // The signal comes first: what ends because of it has not failed.
                self.heed_signal();
                self.take_report(process, report)?;
            }
            None => self.observer.tick(),
        }
        self.allow_for_pauses();
        self.enforce_deadlines()?;
        self.write_progress()?;
        self.start_parked()?;
        self.take_answers()
    }

    /// While this process and its children were stopped, no time passed for them.
    fn allow_for_pauses(&mut self) {
        let paused_ms = self.settings.launcher.paused_ms();
        let longer_ms = paused_ms - std::mem::replace(&mut self.paused_ms, paused_ms);
        if longer_ms > 0 {
            self.give_time(longer_ms);
        }
    }

    /// Moves every deadline of what runs or waits.
    fn give_time(&mut self, longer_ms: i64) {
        for live in self.live.values_mut() {
            live.deadline_ms = live.deadline_ms.saturating_add(longer_ms);
            live.last_sign_ms = live.last_sign_ms.saturating_add(longer_ms);
            live.late_since_ms = live.late_since_ms.map(|since_ms| since_ms.saturating_add(longer_ms));
        }
        self.waiting.values_mut().for_each(|waiting| waiting.postpone(longer_ms));
    }

    /// Writes down everything that has gathered, in one transaction. If nothing could be written, everything since the
    /// mark is forgotten, and the caller looks again.
    pub(crate) fn try_commit(&mut self, mark: Mark) -> Result<Committed> {
        if self.pipeline.entries().is_empty() {
            return Ok(Committed::All(None));
        }
        let written = self.patiently(|engine| {
            let (entries, id) = (engine.pipeline.entries(), &engine.run.asked.id);
            ops::run::journal::write(engine.cx, &engine.caller, id, &engine.owner, entries)
        });
        let committed = match written {
            Ok(Written::All { token }) => {
                let is_audited = self.pipeline.entries().iter().any(Entry::is_audited);
                self.pipeline.written();
                if is_audited {
                    self.follow_audit();
                }
                return Ok(Committed::All(token));
            }
            Ok(Written::Hindered(hindrance)) => Committed::Hindered(hindrance),
            Ok(Written::Fenced) => Committed::Fenced,
            Err(error) if error.code == ErrorCode::WrongState => Committed::Moved,
            Err(error) => return Err(error),
        };
        self.pipeline.back_to(mark);
        Ok(committed)
    }

    /// The same, where somebody else may move a task in the last moment. False if so.
    pub(crate) fn commit_unless_moved(&mut self, mark: Mark) -> Result<bool> {
        Ok(matches!(self.try_commit(mark)?, Committed::All(_)))
    }

    pub(crate) fn note(&mut self, entry: Entry) {
        self.pipeline.push(entry);
    }

    pub(crate) fn place(&self, task: usize) -> CheckLocation<'_> {
        CheckLocation {
            launcher: &*self.settings.launcher,
            workspace: self.directory(task),
            index: &self.settings.index,
            environment: &self.settings.environment,
            author: self.run.asked.environment.as_ref(),
            task_env: self.task_env(task),
            scopes: &self.part(task).spec.writes,
            wanted: self.wanted(task),
            sandbox: &self.settings.sandbox,
            task: self.tasks[task].id.as_str(),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.cx.now().boot.millis
    }

    pub(crate) fn part(&self, task: usize) -> &PlanPart {
        self.tasks[task].part.as_ref().expect("BUG: every task of a run is part of its plan")
    }

    /// The TASK that was submitted, where the task comes from one.
    pub(crate) fn aop(&self, task: usize) -> Option<&AopTask> {
        self.aop[task].as_deref()
    }

    /// Reads a task again after it was changed, and keeps the board in step.
    pub(crate) fn refresh(&mut self, task: usize) -> Result<()> {
        let fresh = ops::task::get::by_id(self.cx, self.tasks[task].id.as_str())?;
        self.board.set_status(task, fresh.status);
        self.board.set_priority(task, Priority::from_number(fresh.priority));
        self.tasks[task] = fresh;
        Ok(())
    }

    /// Whether nobody else moved the task while it waited. The board learns of it either way.
    fn still_waits(&mut self, task: usize) -> Result<bool> {
        self.refresh(task)?;
        Ok(self.tasks[task].status == Status::Todo)
    }

    pub(crate) fn is_canceled(&self) -> bool {
        self.canceled
    }

    fn note_cancel(&mut self) -> Result<()> {
        if !self.canceled || self.cancel_reason.is_none() {
            self.canceled = true;
            self.cancel_reason = ops::run::cancel::reason_of(self.cx, &self.run)?;
        }
        Ok(())
    }

    /// Why the run was canceled, in words for its tasks.
    pub(crate) fn cancel_words(&mut self) -> Result<String> {
        self.note_cancel()?;
        Ok(self.cancel_reason.clone().unwrap_or_else(|| "the run was canceled".to_owned()))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_requested().is_some()
    }

    /// How the loop ends if nothing is live any more. A canceled run must not come back when an interrupted one is
    /// continued, so canceling comes first.
    pub(crate) fn stop_requested(&self) -> Option<Finished> {
        if self.canceled {
            return Some(Finished::Canceled);
        }
        self.settings.stop.raised().map(Finished::Interrupted)
    }

    fn take_steps(&mut self) -> Result<()> {
        loop {
            let now_ms = self.now_ms();
            let steps = self.board.steps(now_ms);
            if steps.is_empty() {
                return Ok(());
            }
            // Whatever became more urgent before a task starts goes first.
            if self.hear_escalations()? {
                continue;
            }
            self.board.note(&steps, now_ms);
            for step in steps {
                // Starting many takes a while, and nobody who asked to stop wants to see the rest of them start.
                if self.settings.stop.raised().is_some() {
                    return Ok(());
                }
                match step {
                    Step::Start(task) => self.start(task)?,
                    Step::Skip { task, because } => self.skip(task, because)?,
                }
            }
        }
    }

    fn skip(&mut self, task: usize, because: usize) -> Result<()> {
        if !self.still_waits(task)? {
            return Ok(());
        }
        let name = self.board.slot(because).name.clone();
        let status = self.board.slot(because).status;
        let mut reason = format!("dependency `{name}` is {status}");
        if self.aop(task).is_some() {
            reason = format!("{}: {reason}", Code::DependencyFailed);
        }
        let mark = self.pipeline.mark();
        self.note(Entry::MoveTask {
            task_id: self.tasks[task].id.clone(),
            to: Status::Canceled,
            reason: Some(reason.clone()),
            verified: false,
        });
        let skipped = self.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if !skipped {
            return Ok(());
        }
        let progress = Progress::Ended {
            task: &self.board.slot(task).name,
            status: Status::Canceled,
            evidence: None,
            reason: Some(&reason),
            took: Duration::ZERO,
            cost: None,
        };
        self.observer.report(progress);
        Ok(())
    }

    /// What the run knows and could not write, in a copy of the store beside the one that was taken away. Returns the
    /// error that says where it is.
    pub(crate) fn rescued(&mut self, error: Error) -> Error {
        if error.code != ErrorCode::StoreReplaced {
            return error;
        }
        self.children.end_all();
        let (run, owner, entries) = (&self.run.asked.id, &self.owner, self.pipeline.entries());
        ops::run::rescue::rescue(self.cx, &self.caller, (run, owner), entries, error)
    }

    fn heed_signal(&mut self) {
        if let Some(signal) = self.settings.stop.raised() {
            self.stop_all(Stopped::Interrupted, Some(signal));
        }
    }

    /// Signals, and what other processes wrote into the store: a canceled run, a canceled task, another priority. Says
    /// whether it was time to look there again.
    pub(crate) fn heed_requests(&mut self) -> Result<bool> {
        self.heed_signal();
        let now_ms = self.now_ms();
        if now_ms - self.renewed_ms >= millis(limits::OWNER_RENEWAL) {
            self.beat(now_ms)?;
        }
        if now_ms - self.polled_ms < millis(limits::POLL_INTERVAL) {
            return Ok(false);
        }
        self.polled_ms = now_ms;
        let stored = ops::run::show::state(self.cx, &self.run.asked.id)?;
        if stored.owner.as_ref() != Some(&self.owner) {
            return Err(ops::run::journal::taken(&self.run.asked.id));
        }
        if stored.cancel_requested {
            self.note_cancel()?;
            self.stop_all(Stopped::Canceled, None);
        }
        self.hear_heartbeats(now_ms)?;
        self.hear_escalations()?;
        let ids: Vec<usize> = self.live.keys().copied().collect();
        for task in ids {
            let stored = ops::task::get::by_id(self.cx, self.tasks[task].id.as_str())?;
            if stored.status == Status::Canceled
                && let Some(live) = self.live.get_mut(&task)
            {
                live.stop(Stopped::Canceled, &*self.children);
            }
        }
        Ok(true)
    }

    /// Tasks that an agent has taken are its own to finish; the board only has to see it. One whose agent went away
    /// is left for a person: nobody knows what it did.
    fn look_after_others(&mut self) -> Result<()> {
        let others: Vec<usize> = self.board.busy().filter(|task| !self.live.contains_key(task)).collect();
        for task in others {
            self.refresh(task)?;
            let held = self.tasks[task].live_claim(&self.cx.now()).is_some();
            if self.tasks[task].status != Status::InProgress || held {
                continue;
            }
            let mark = self.pipeline.mark();
            let reason = Some("unknown: the agent that had taken it went away".to_owned());
            let task_id = self.tasks[task].id.clone();
            self.note(Entry::MoveTask { task_id, to: Status::Blocked, reason, verified: false });
            self.commit_unless_moved(mark)?;
            self.refresh(task)?;
        }
        Ok(())
    }

    fn stop_all(&mut self, why: Stopped, signal: Option<i32>) {
        let insists = self.settings.stop.insists();
        let mut first = false;
        for live in self.live.values_mut() {
            first |= live.stopped.is_none();
            live.stop(why, &*self.children);
            if insists {
                self.children.kill(live.process);
            }
        }
        if first {
            self.observer.report(Progress::Stopping { signal });
        }
    }

    /// Until something has to be looked at again, at most one poll interval.
    fn patience(&self, now_ms: i64) -> Duration {
        let deadlines = self.live.values().map(Live::next_due_ms).chain(self.board.next_due_ms(now_ms));
        let next = deadlines.map(|at| at - now_ms).min().unwrap_or(i64::MAX);
        let next = Duration::from_millis(u64::try_from(next.max(1)).unwrap_or(1));
        next.min(limits::POLL_INTERVAL)
    }
}

fn submitted(task: &Task) -> Option<Box<AopTask>> {
    let value = task.part.as_ref()?.spec.aop.clone()?;
    serde_json::from_value(value).ok()
}

pub(crate) fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
