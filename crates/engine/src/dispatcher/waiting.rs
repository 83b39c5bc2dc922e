//! What other runs hold, what this one holds, and the tasks that wait because of it.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::crew::budget::BudgetFault;
use contract::domain::crew::lock::{HeldLock, place};
use contract::domain::crew::reference_of;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::process::Remains;
use contract::domain::reason::Reason;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::Now;
use ops::Result;
use ops::crew::paths::resolve;
use ops::crew::{LockConflict, Obstacle};
use ops::host::Host;
use ops::run::journal::Wants;
use serde_json::json;

use super::engine_run::EngineRun;
use super::task_work::{TaskPhase, TaskSet, TaskWork};
use super::{Dispatcher, millis};
use crate::executor::Stopped;
use crate::observer::TaskProgress;
use crate::scheduler::{Board, Slot, wait_after};
use crate::settings::Settings;

/// A task that could start but for something that others have.
pub(crate) struct Waiting {
    since_ms: i64,
    /// The last report about it.
    told: String,
    hindrance: Obstacle,
}

impl Waiting {
    /// Since when a task waits that met this obstacle now. How long it may wait for a limit is counted elsewhere, so that
    /// this time neither goes on nor counts once it waits for something else.
    fn since_ms(known: Option<&Self>, hindrance: &Obstacle, now_ms: i64) -> i64 {
        let is_limit = |hindrance: &Obstacle| matches!(hindrance, Obstacle::Limit(_));
        let same = known.filter(|known| is_limit(&known.hindrance) == is_limit(hindrance));
        same.map_or(now_ms, |known| known.since_ms)
    }

    /// Whether it took as long as it may. How long a limit may be waited for is decided at each look at it.
    fn is_over(&self, now_ms: i64, longest: Duration) -> bool {
        !matches!(self.hindrance, Obstacle::Limit(_)) && now_ms - self.since_ms >= millis(longest)
    }

    /// Time in which the engine was stopped does not count.
    pub(super) fn postpone(&mut self, millis: i64) {
        self.since_ms = self.since_ms.saturating_add(millis);
    }
}

/// After a sweep found processes of a dead engine that it could not end, which takes a while to find out.
const STUCK_SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Between two sweeps because of a lock that is waited for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// When this engine looks for holders of locks that gave no sign of life.
pub(super) struct Watchdog {
    /// From when on this engine can tell which holders are silent.
    from_ms: i64,
    looked_ms: i64,
}

impl Watchdog {
    pub(super) fn new(now_ms: i64) -> Self {
        Self { from_ms: now_ms, looked_ms: now_ms }
    }

    /// Sweeps those that are silent, if this engine can tell.
    fn look(&mut self, engine: &mut EngineRun<'_>, now_ms: i64) {
        if now_ms < self.from_ms {
            return;
        }
        self.looked_ms = now_ms;
        // A fault in another run's ledger must not end this run; one of the store itself shows at the next write.
        let swept = ops::watchdog::tick(engine.cx, &engine.caller).unwrap_or_default();
        if swept.kept.iter().any(|kept| kept["remains"] == json!(Remains::Left)) {
            self.from_ms = engine.now_ms().saturating_add(millis(STUCK_SWEEP_INTERVAL));
        }
    }
}

/// The parts of the workspace that a task writes, as they are on the disk now. None while it works in a clone.
pub(crate) fn wants(engine: &EngineRun<'_>, work: &TaskWork) -> Result<Wants> {
    if work.is_isolated() { Ok(Wants::default()) } else { scope(engine, work) }
}

/// The same for a task that works in a clone, too.
pub(super) fn scope(engine: &EngineRun<'_>, work: &TaskWork) -> Result<Wants> {
    resolved(&*engine.cx.host(), &engine.run.asked.workspace, &work.spec().writes)
}

/// What to report about a task that gets the locks it waited for, if they were taken from their holder.
pub(super) fn takeover(engine: &mut EngineRun<'_>, work: &TaskWork) -> Result<Option<String>> {
    let Some(Waiting { hindrance: Obstacle::Lock(conflict), .. }) = work.waiting() else { return Ok(None) };
    let lock = &conflict.lock;
    let from = format!("{} of {}", lock.reference, lock.run_id);
    let taken = ops::lock::list::taken(engine.cx, lock.token)?;
    Ok(taken.map(|why| format!("took the lock on {} from {from}: {why}", lock.scope)))
}

/// Adds to the obstacle what is left of the engine behind it.
pub(crate) fn look_at_holder(settings: &Settings, obstacle: &mut Obstacle) {
    if let Obstacle::Lock(conflict) = obstacle
        && let Some(holder) = &conflict.lock.holder
    {
        conflict.remains = Some(settings.launcher.look_at(holder));
        conflict.pid = settings.launcher.pid_here(holder);
    }
}

/// Why a task did not begin, with the code of AOP if it has one for that, or else of the operator contract.
pub(super) fn refusal(run: &Run, work: &TaskWork, hindrance: &Obstacle) -> Reason {
    if let Obstacle::Budget { fault: fault @ BudgetFault::Exhausted { .. }, .. } = hindrance {
        return Reason::coded(FailureCode::CostLimitExceeded, fault.to_string());
    }
    let error = hindrance.refusal(run, &reference_of(work.part().number));
    Reason::coded(error.code, error.message)
}

impl Dispatcher<'_> {
    /// A sign of life: the hold on the run and on everything its tasks write is renewed, and holders without such a
    /// sign are swept. A child that lost its locks is ended at once.
    pub(super) fn beat(&mut self, now_ms: i64) -> Result<()> {
        // An engine that was suspended, as on a machine that slept, cannot tell which holders were silent meanwhile.
        if now_ms - self.clock.renewed_ms > millis(limits::ENGINE_LOCK_LEASE) / 2 {
            self.watchdog.from_ms = now_ms.saturating_add(millis(limits::OWNER_RENEWAL * 2));
        }
        self.clock.renewed_ms = now_ms;
        let tokens: Vec<i64> = self.tasks.iter().filter_map(|work| work.grant).collect();
        let lost = self.engine.patiently(|engine| {
            ops::run::own::renew(engine.cx, &engine.run.asked.id, &engine.owner, &tokens)
        })?;
        let processes = &self.engine.processes;
        for work in self.tasks.iter_mut().filter(|work| work.grant.is_some_and(|it| lost.contains(&it))) {
            if let Some(live) = work.live_mut() {
                live.stop(Stopped::Fenced, processes);
                live.process().into_iter().for_each(|process| processes.kill(process));
            }
        }
        self.watchdog.look(&mut self.engine, now_ms);
        Ok(())
    }

    /// Looks at what other runs hold, reports which tasks wait for it, and gives up on those that waited too long.
    pub(super) fn look_at_locks(&mut self) -> Result<()> {
        if self.board.has_writers() {
            self.see_others()?;
        } else {
            self.board.set_taken(Vec::new());
        }
        self.give_up()
    }

    fn see_others(&mut self) -> Result<()> {
        let engine = &mut self.engine;
        let now = engine.cx.now();
        let now_ms = now.boot.millis;
        let mut others = ops::lock::list::around(engine.cx, &engine.run)?;
        let is_silent = others.iter().any(|lock| !lock.lease.is_live(&now));
        if is_silent && now_ms - self.watchdog.looked_ms >= millis(SWEEP_INTERVAL) {
            self.watchdog.look(engine, now_ms);
            others = ops::lock::list::around(engine.cx, &engine.run)?;
        }
        let fold = engine.cx.host().folds_case(&engine.run.asked.workspace);
        self.board.set_taken(others.iter().map(|lock| seen(&lock.place, fold)).collect());
        for task in self.board.waiting(now_ms) {
            if let Some(mut obstacle) = self.obstacle(task, &others) {
                look_at_holder(self.engine.settings, &mut obstacle);
                self.wait_for(task, obstacle);
            }
        }
        Ok(())
    }

    fn obstacle(&self, task: usize, others: &[HeldLock]) -> Option<Obstacle> {
        let writes = &self.board.slot(task).writes;
        let mut held = others.iter().zip(self.board.taken());
        held.find_map(|(lock, place)| {
            let wanted = writes.iter().find(|wanted| wanted.overlaps(place))?.clone();
            let lock = lock.clone();
            Some(Obstacle::Lock(Box::new(LockConflict { lock, wanted, remains: None, pid: None })))
        })
    }

    /// Notes that a task waits, and reports it once for everything it waits for.
    pub(crate) fn wait_for(&mut self, task: usize, hindrance: Obstacle) {
        let (now_ms, work) = (self.engine.now_ms(), &mut self.tasks[task]);
        let awaited = hindrance.awaited();
        let known = work.clear_wait();
        let since_ms = Waiting::since_ms(known.as_ref(), &hindrance, now_ms);
        if known.as_ref().is_none_or(|known| known.told != awaited) {
            let (task, awaited) = (work.name(), &awaited);
            self.engine.observer.report(match &hindrance {
                Obstacle::Limit(conflict) => {
                    TaskProgress::WaitsForLimit { task, awaited, left: conflict.waits.left() }
                }
                Obstacle::Lock(_) | Obstacle::Budget { .. } | Obstacle::Approval { .. } => {
                    TaskProgress::Waiting { task, awaited }
                }
            });
        }
        work.phase = TaskPhase::Waiting(Waiting { since_ms, told: awaited, hindrance });
    }

    /// An attempt could not begin: it is tried again when the obstacle may be gone, or left to a person.
    pub(super) fn hindered(&mut self, task: usize, mut hindrance: Obstacle) -> Result<()> {
        if let Obstacle::Limit(conflict) = hindrance {
            return self.wait_for_limit(task, conflict);
        }
        look_at_holder(self.engine.settings, &mut hindrance);
        if !hindrance.passes() {
            return self.block(task, &hindrance);
        }
        self.wait_for(task, hindrance);
        let again_ms = self.engine.now_ms().saturating_add(millis(limits::HINDRANCE_POLL));
        self.board.set_not_before(task, again_ms);
        self.look_at_locks()
    }

    /// Whether a task has waited for as long as it may.
    pub(crate) fn has_waited_enough(&self, task: usize) -> bool {
        let longest = self.engine.settings.waits.locks;
        self.tasks[task].waiting().is_some_and(|waiting| waiting.is_over(self.engine.now_ms(), longest))
    }

    fn give_up(&mut self) -> Result<()> {
        let waiting: Vec<usize> =
            self.tasks.iter().filter(|work| work.waiting().is_some()).map(|work| work.index).collect();
        for task in waiting {
            if self.board.slot(task).status != Status::Todo {
                self.tasks[task].clear_wait();
            } else if self.has_waited_enough(task)
                && let Some(waiting) = self.tasks[task].clear_wait()
            {
                self.block(task, &waiting.hindrance)?;
            }
        }
        Ok(())
    }

    /// Leaves a task to a person, with the reason why it did not begin.
    fn block(&mut self, task: usize, hindrance: &Obstacle) -> Result<()> {
        self.tasks[task].clear_wait();
        let reason = refusal(&self.engine.run, &self.tasks[task], hindrance);
        let mark = self.engine.pipeline.mark();
        self.settle(task, Status::Blocked, reason, mark).map(drop)
    }
}

fn resolved(host: &dyn Host, root: &str, writes: &[Scope]) -> Result<Wants> {
    if writes.is_empty() {
        return Ok(Wants::default());
    }
    let paths: Vec<String> = writes.iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = paths.iter().map(String::as_str).collect();
    let scopes = resolve(&host.links(root, &texts), root, &paths)?;
    Ok(Wants { scopes, fold: host.folds_case(root) })
}

/// A place as the board compares it.
fn seen(place: &Scope, fold: bool) -> Scope {
    if fold { place.folded() } else { place.clone() }
}

/// What a task writes, under absolute names, so that it can be held against the locks of other runs. A scope that has
/// no place in the workspace is refused when the task is to begin.
fn places(host: &dyn Host, run: &Run, writes: &[Scope]) -> Vec<Scope> {
    let Ok(wants) = resolved(host, &run.asked.workspace, writes) else { return writes.to_vec() };
    let places = wants.scopes.iter().filter_map(|scope| place(&run.asked.workspace, scope).ok());
    places.map(|place| seen(&place, wants.fold)).collect()
}

/// The board of a run. Repetitions that had to wait when the last engine stopped still do.
pub(super) fn board(host: &dyn Host, run: &Run, tasks: &TaskSet, now: &Now) -> Board {
    let positions: BTreeMap<&TaskId, usize> = tasks.iter().map(|work| (&work.task.id, work.index)).collect();
    let slot = |work: &TaskWork| {
        let (task, spec) = (&work.task, work.spec());
        let wait = wait_after(spec, &work.attempts);
        let passed = work.attempts.last().and_then(|last| last.ended_at).map(|ended| now.at.since(ended));
        let left = wait.saturating_sub(passed.unwrap_or(Duration::ZERO));
        let mut needs: Vec<usize> =
            task.depends_on.iter().filter_map(|id| positions.get(id).copied()).collect();
        needs.sort_unstable();
        Slot {
            name: work.name().to_owned(),
            status: task.status,
            needs,
            writes: if work.is_isolated() { Vec::new() } else { places(host, run, &spec.writes) },
            priority: Priority::from_number(task.priority),
            not_before_ms: now.boot.millis.saturating_add(millis(left)),
            ..Slot::default()
        }
    };
    Board::new(tasks.iter().map(slot).collect(), run.asked.plan.max_parallel.max(1))
}

#[cfg(test)]
mod tests;
