//! What other runs hold, what this one holds, and the tasks that wait because of it.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::Code;
use contract::domain::attempt::Attempt;
use contract::domain::crew::budget::BudgetFault;
use contract::domain::crew::lock::{Held, place};
use contract::domain::crew::reference_of;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::process::Remains;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::Now;
use ops::Result;
use ops::crew::paths::resolve;
use ops::crew::{LockConflict, Obstacle};
use ops::host::Host;
use ops::run::journal::{Entry, Wants};
use serde_json::json;

use super::{Dispatcher, millis};
use crate::executor::Stopped;
use crate::observer::Progress;
use crate::scheduler::{Board, Slot, wait_after};

/// A task that could start but for something that others have.
pub(super) struct Waiting {
    since_ms: i64,
    /// What was told about it.
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

    /// Time in which nobody could wait does not count.
    pub(super) fn postpone(&mut self, millis: i64) {
        self.since_ms = self.since_ms.saturating_add(millis);
    }
}

/// After a sweep found processes of a dead engine that it could not end, which takes a while to find out.
const STUCK_SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Between two sweeps because of a lock that is waited for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

impl Dispatcher<'_> {
    /// The parts of the workspace that a task writes, as they are on the disk now. None while it works in a clone.
    pub(crate) fn wants(&self, task: usize) -> Result<Wants> {
        if self.is_isolated(task) { Ok(Wants::default()) } else { self.scope(task) }
    }

    /// The same for a task that works in a clone, too.
    pub(super) fn scope(&self, task: usize) -> Result<Wants> {
        wants(&*self.cx.host(), &self.run.asked.workspace, &self.part(task).spec.writes)
    }

    /// A sign of life: the hold on the run and on everything its tasks write is renewed, and those who gave no such
    /// sign are swept. A child whose locks were taken back is ended at once.
    pub(super) fn beat(&mut self, now_ms: i64) -> Result<()> {
        // An engine that was suspended, as on a machine that slept, cannot tell which holders were silent meanwhile.
        if now_ms - self.renewed_ms > millis(limits::ENGINE_LOCK_LEASE) / 2 {
            self.watches_from_ms = now_ms.saturating_add(millis(limits::OWNER_RENEWAL * 2));
        }
        self.renewed_ms = now_ms;
        let tokens: Vec<i64> = self.held.values().copied().collect();
        let lost = self.patiently(|engine| {
            ops::run::own::renew(engine.cx, &engine.run.asked.id, &engine.owner, &tokens)
        })?;
        for (task, _) in self.held.iter().filter(|(_, token)| lost.contains(token)) {
            if let Some(live) = self.live.get_mut(task) {
                live.stop(Stopped::Fenced, &*self.children);
                self.children.kill(live.process);
            }
        }
        self.watch(now_ms);
        Ok(())
    }

    fn watch(&mut self, now_ms: i64) {
        if now_ms < self.watches_from_ms {
            return;
        }
        self.watched_ms = now_ms;
        // A fault in somebody else's ledger must not end this run; one of the store itself shows at the next write.
        let swept = ops::watchdog::tick(self.cx, &self.caller).unwrap_or_default();
        if swept.kept.iter().any(|kept| kept["remains"] == json!(Remains::Left)) {
            self.watches_from_ms = self.now_ms().saturating_add(millis(STUCK_SWEEP_INTERVAL));
        }
    }

    /// Looks at what other runs hold, tells which tasks wait for it, and gives up on those that waited too long.
    pub(super) fn look_at_locks(&mut self) -> Result<()> {
        if self.board.has_writers() {
            self.see_others()?;
        } else {
            self.board.set_taken(Vec::new());
        }
        self.give_up()
    }

    fn see_others(&mut self) -> Result<()> {
        let now = self.cx.now();
        let now_ms = now.boot.millis;
        let mut others = ops::lock::list::around(self.cx, &self.run)?;
        let is_silent = others.iter().any(|lock| !lock.lease.is_live(&now));
        if is_silent && now_ms - self.watched_ms >= millis(SWEEP_INTERVAL) {
            self.watch(now_ms);
            others = ops::lock::list::around(self.cx, &self.run)?;
        }
        let fold = self.cx.host().folds_case(&self.run.asked.workspace);
        self.board.set_taken(others.iter().map(|lock| seen(&lock.place, fold)).collect());
        for task in self.board.waiting(now_ms) {
            if let Some(obstacle) = self.obstacle(task, &others) {
                self.wait_for(task, Obstacle::Lock(Box::new(obstacle)));
            }
        }
        Ok(())
    }

    fn obstacle(&self, task: usize, others: &[Held]) -> Option<LockConflict> {
        let writes = &self.board.slot(task).writes;
        let found = others
            .iter()
            .zip(self.board.taken())
            .find_map(|(lock, place)| Some((lock, writes.iter().find(|wanted| wanted.overlaps(place))?)));
        found.map(|(lock, wanted)| LockConflict {
            lock: lock.clone(),
            wanted: wanted.clone(),
            remains: lock.holder.as_ref().map(|holder| self.settings.launcher.look_at(holder)),
            pid: lock.holder.as_ref().and_then(|holder| self.settings.launcher.pid_here(holder)),
        })
    }

    /// Notes that a task waits, and tells it once for everything it waits for.
    pub(crate) fn wait_for(&mut self, task: usize, hindrance: Obstacle) {
        let awaited = hindrance.awaited();
        let known = self.waiting.remove(&task);
        let since_ms = Waiting::since_ms(known.as_ref(), &hindrance, self.now_ms());
        if known.as_ref().is_none_or(|known| known.told != awaited) {
            let (task, awaited) = (&self.board.slot(task).name, &awaited);
            self.observer.report(match &hindrance {
                Obstacle::Limit(conflict) => {
                    Progress::WaitsForLimit { task, awaited, left: conflict.waits.left() }
                }
                Obstacle::Lock(_) | Obstacle::Budget { .. } | Obstacle::Approval { .. } => {
                    Progress::Waiting { task, awaited }
                }
            });
        }
        self.waiting.insert(task, Waiting { since_ms, told: awaited, hindrance });
    }

    /// An attempt could not begin: it is tried again when the obstacle may be gone, or left to a person.
    pub(super) fn hindered(&mut self, task: usize, mut hindrance: Obstacle) -> Result<()> {
        if let Obstacle::Limit(conflict) = hindrance {
            return self.wait_for_limit(task, conflict);
        }
        self.look_at_holder(&mut hindrance);
        if !hindrance.passes() {
            return self.block(task, &hindrance);
        }
        self.wait_for(task, hindrance);
        self.board.set_not_before(task, self.now_ms().saturating_add(millis(limits::HINDRANCE_POLL)));
        self.look_at_locks()
    }

    /// What to say about a task that gets the locks it waited for, if they were taken from their holder.
    pub(super) fn takeover(&mut self, task: usize) -> Result<Option<String>> {
        let Some(Waiting { hindrance: Obstacle::Lock(conflict), .. }) = self.waiting.get(&task) else {
            return Ok(None);
        };
        let conflict = conflict.clone();
        let lock = &conflict.lock;
        let from = format!("{} of {}", lock.reference, lock.run_id);
        let taken = ops::lock::list::taken(self.cx, lock.token)?;
        Ok(taken.map(|why| format!("took the lock on {} from {from}: {why}", lock.scope)))
    }

    /// Says in the obstacle what is left of the engine behind it.
    pub(crate) fn look_at_holder(&self, obstacle: &mut Obstacle) {
        if let Obstacle::Lock(conflict) = obstacle
            && let Some(holder) = &conflict.lock.holder
        {
            conflict.remains = Some(self.settings.launcher.look_at(holder));
            conflict.pid = self.settings.launcher.pid_here(holder);
        }
    }

    /// It waits for nothing any more.
    pub(crate) fn waits_no_more(&mut self, task: usize) {
        self.waiting.remove(&task);
    }

    /// Whether a task has waited for as long as it may.
    pub(crate) fn has_waited_enough(&self, task: usize) -> bool {
        // How long a limit may be waited for is decided at each look at it.
        let over = |waiting: &Waiting| {
            !matches!(waiting.hindrance, Obstacle::Limit(_))
                && self.now_ms() - waiting.since_ms >= millis(self.settings.lock_wait)
        };
        self.waiting.get(&task).is_some_and(over)
    }

    fn give_up(&mut self) -> Result<()> {
        let all: Vec<usize> = self.waiting.keys().copied().collect();
        for task in all {
            if self.board.slot(task).status != Status::Todo {
                self.waits_no_more(task);
            } else if self.has_waited_enough(task)
                && let Some(waiting) = self.waiting.remove(&task)
            {
                self.block(task, &waiting.hindrance)?;
            }
        }
        Ok(())
    }

    /// Leaves a task to a person, with the reason why it did not begin.
    fn block(&mut self, task: usize, hindrance: &Obstacle) -> Result<()> {
        self.waits_no_more(task);
        let reason = self.refusal(task, hindrance);
        let mark = self.pipeline.mark();
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::MoveTask { task_id, to: Status::Blocked, reason: Some(reason), verified: false });
        let blocked = self.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if blocked {
            self.tell_end(task, Duration::ZERO);
        }
        Ok(())
    }

    /// Why a task did not begin, with the code of AOP if it has one for that, or else of the operator contract.
    pub(crate) fn refusal(&self, task: usize, hindrance: &Obstacle) -> String {
        if let Obstacle::Budget { fault: fault @ BudgetFault::Exhausted { .. }, .. } = hindrance {
            return format!("{}: {fault}", Code::CostLimitExceeded);
        }
        let error = hindrance.refusal(&self.run, &reference_of(self.part(task).number));
        format!("{}: {}", error.code.as_str(), error.message)
    }
}

fn wants(host: &dyn Host, root: &str, writes: &[Scope]) -> Result<Wants> {
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
    let Ok(wants) = wants(host, &run.asked.workspace, writes) else { return writes.to_vec() };
    let places = wants.scopes.iter().filter_map(|scope| place(&run.asked.workspace, scope).ok());
    places.map(|place| seen(&place, wants.fold)).collect()
}

/// The board of a run. Repetitions that had to wait when the last engine stopped still do.
pub(super) fn board(
    (host, run): (&dyn Host, &Run),
    tasks: &[Task],
    attempts: &[Vec<Attempt>],
    now: &Now,
) -> Board {
    let positions: BTreeMap<&TaskId, usize> =
        tasks.iter().enumerate().map(|(position, task)| (&task.id, position)).collect();
    let position = |id: &TaskId| positions.get(id).copied();
    let slot = |(task, attempts): (&Task, &Vec<Attempt>)| {
        let spec = task.part.as_ref().map(|part| &part.spec);
        let wait = spec.map_or(Duration::ZERO, |spec| wait_after(spec, attempts));
        let passed = attempts.last().and_then(|last| last.ended_at).map(|ended| now.at.since(ended));
        let left = wait.saturating_sub(passed.unwrap_or(Duration::ZERO));
        let mut needs: Vec<usize> = task.depends_on.iter().filter_map(position).collect();
        needs.sort_unstable();
        Slot {
            name: spec.map(|spec| spec.id.clone()).unwrap_or_default(),
            status: task.status,
            needs,
            writes: spec
                .filter(|spec| spec.worktree.is_none())
                .map(|spec| places(host, run, &spec.writes))
                .unwrap_or_default(),
            priority: Priority::from_number(task.priority),
            not_before_ms: now.boot.millis.saturating_add(millis(left)),
            ..Slot::default()
        }
    };
    Board::new(tasks.iter().zip(attempts).map(slot).collect(), run.asked.plan.max_parallel.max(1))
}

#[cfg(test)]
mod tests;
