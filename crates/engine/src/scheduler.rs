//! Which task is started next. Pure: the state of the board in, steps out.
//!
//! A run may have thousands of tasks, so nothing here looks at all of them for each step: the board knows at any time
//! which tasks could start, which wait for a time, and which can never start.

mod choice;
mod waits;
mod writers;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::plan::PlanTask;
use contract::domain::priority::Priority;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::plan::choice::{Choice, standing};

use choice::{StartCandidate, choose};
use waits::{Waits, is_lost};
use writers::Writers;

/// Starvation limit: how many conflicting tasks may start before a waiting one takes priority.
const PATIENCE: u32 = 3;

/// What the scheduler knows of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slot {
    pub name: String,
    pub status: Status,
    pub priority: Priority,
    /// Indexes of the tasks it waits for.
    pub needs: Vec<usize>,
    pub writes: Vec<Scope>,
    /// A retry that has to wait, on the boot clock.
    pub not_before_ms: i64,
    /// How many conflicting tasks started while this one was ready.
    pub passed_over: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardStep {
    Start(usize),
    /// It can never start: something it needs failed or was canceled.
    Skip {
        task: usize,
        because: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    slots: Vec<Slot>,
    /// The place of each task in the order in which they are offered.
    places: Vec<usize>,
    max_parallel: usize,
    /// What others hold, outside of this board.
    taken: Vec<Scope>,
    waits: Waits,
    /// Todo, with everything it needs and its time come: by weight, then as offered.
    able: BTreeSet<Offer>,
    /// The tasks in `able` that write something.
    able_writers: Writers,
    /// Todo with a time to wait for.
    later: BTreeSet<(i64, usize)>,
    /// Todo, and something it needs is lost: as offered.
    doomed: BTreeSet<(usize, usize)>,
    busy: BTreeSet<usize>,
    /// Tasks in `able` that were passed over too often, as offered.
    starved: BTreeSet<(usize, usize)>,
    /// Tasks that are todo and write something.
    writers: usize,
    /// The time of the last query. Tasks that are due are in `able`.
    now_ms: i64,
}

/// A task that could start: the heaviest first, then by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    weight: Reverse<u128>,
    place: usize,
    task: usize,
}

impl Board {
    /// Tasks are offered in their own order.
    pub fn new(slots: Vec<Slot>, max_parallel: usize) -> Self {
        let mut board = Self {
            places: (0..slots.len()).collect(),
            max_parallel,
            taken: Vec::new(),
            waits: Waits::new(&slots),
            able: BTreeSet::new(),
            able_writers: Writers::default(),
            later: BTreeSet::new(),
            doomed: BTreeSet::new(),
            busy: BTreeSet::new(),
            starved: BTreeSet::new(),
            writers: 0,
            now_ms: i64::MIN,
            slots,
        };
        (0..board.slots.len()).for_each(|task| board.enter(task));
        board
    }

    pub fn slot(&self, task: usize) -> &Slot {
        &self.slots[task]
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Offers tasks in this order from here on.
    pub fn offer(&mut self, order: &[usize]) {
        self.over_all(|board| {
            order.iter().enumerate().for_each(|(place, &task)| board.places[task] = place);
        });
    }

    pub fn set_status(&mut self, task: usize, status: Status) {
        let before = self.slots[task].status;
        if before == status {
            return;
        }
        self.leave(task);
        self.slots[task].status = status;
        self.enter(task);
        for dependent in self.waits.concerned(task, before, status) {
            self.leave(dependent);
            self.waits.moved(dependent, before, status);
            self.enter(dependent);
        }
    }

    /// The task waits until this time on the boot clock.
    pub fn set_not_before(&mut self, task: usize, not_before_ms: i64) {
        self.leave(task);
        self.slots[task].not_before_ms = not_before_ms;
        self.enter(task);
    }

    /// The task goes before or after others from here on.
    pub fn set_priority(&mut self, task: usize, priority: Priority) {
        if self.slots[task].priority == priority {
            return;
        }
        self.leave(task);
        self.slots[task].priority = priority;
        self.enter(task);
    }

    pub fn set_passed_over(&mut self, task: usize, times: u32) {
        self.leave(task);
        self.slots[task].passed_over = times;
        self.enter(task);
    }

    /// What others hold from here on.
    pub fn set_taken(&mut self, taken: Vec<Scope>) {
        self.taken = taken;
    }

    pub fn taken(&self) -> &[Scope] {
        &self.taken
    }

    /// Whether a task that has not begun writes something.
    pub fn has_writers(&self) -> bool {
        self.writers > 0
    }

    /// Tasks in progress, started here or by others.
    pub fn busy(&self) -> impl Iterator<Item = usize> {
        self.busy.iter().copied()
    }

    /// Everything that can be done now. Tasks in progress hold their write scopes. Among those that could start, the
    /// ones that together matter most are started; one that was passed over too often comes first.
    pub fn steps(&mut self, now_ms: i64) -> Vec<BoardStep> {
        self.advance(now_ms);
        let skips = self.skips();
        let room = self.max_parallel.saturating_sub(self.busy.len());
        if room == 0 || self.able.is_empty() {
            return skips;
        }
        let busy: Vec<usize> = self.busy().collect();
        let mut started: Vec<usize> = Vec::new();
        let mut kept_free: Vec<usize> = Vec::new();
        for (_, task) in self.starved.iter().copied().filter(|&(_, task)| !self.is_taken(task)) {
            if started.len() == room {
                break;
            }
            if self.collides_with_any(task, &busy) {
                kept_free.push(task);
            } else if !self.collides_with_any(task, &started) {
                started.push(task);
            }
        }
        let left = room - started.len();
        if left > 0 {
            let free = |task: usize| {
                !started.contains(&task)
                    && !self.is_taken(task)
                    && [&busy, &started, &kept_free]
                        .iter()
                        .all(|others| !self.collides_with_any(task, others))
            };
            let more = self.choice(left, free);
            started.extend(more);
        }
        skips.into_iter().chain(started.into_iter().map(BoardStep::Start)).collect()
    }

    /// Up to `room` of the tasks that are free. Where the heaviest do not collide, the others are not looked at.
    fn choice(&self, room: usize, is_free: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut offers = self.able.iter().filter(|offer| is_free(offer.task));
        let candidate = |offer: &Offer| StartCandidate { task: offer.task, weight: offer.weight.0 };
        let mut candidates: Vec<StartCandidate> = offers.by_ref().take(room).map(candidate).collect();
        let collide = |a: usize, b: usize| self.collide(a, b);
        let mut pairs = candidates.iter().enumerate();
        if pairs.any(|(i, one)| candidates[..i].iter().any(|other| collide(one.task, other.task))) {
            candidates.extend(offers.map(candidate));
        }
        choose(&candidates, collide, room)
    }

    /// Remembers who was passed over by these steps.
    pub fn note(&mut self, steps: &[BoardStep], now_ms: i64) {
        self.advance(now_ms);
        let started = |step: &BoardStep| if let BoardStep::Start(task) = step { Some(*task) } else { None };
        let started: Vec<usize> = steps.iter().filter_map(started).collect();
        if started.iter().all(|&task| self.slots[task].writes.is_empty()) {
            return;
        }
        let is_passed_over = |task: &usize| {
            !started.contains(task) && !self.is_taken(*task) && self.collides_with_any(*task, &started)
        };
        let near: BTreeSet<usize> = started
            .iter()
            .flat_map(|&task| &self.slots[task].writes)
            .flat_map(|scope| self.able_writers.near(scope))
            .collect();
        let passed_over: Vec<usize> = near.into_iter().filter(is_passed_over).collect();
        for task in passed_over {
            let times = self.slots[task].passed_over.saturating_add(1);
            self.set_passed_over(task, times);
        }
    }

    /// When something that waits for a time becomes due.
    pub fn next_due_ms(&self, now_ms: i64) -> Option<i64> {
        self.later.range((now_ms.saturating_add(1), 0)..).next().map(|(at_ms, _)| *at_ms)
    }

    /// Nothing runs and nothing will.
    pub fn is_settled(&mut self, now_ms: i64) -> bool {
        self.advance(now_ms);
        self.busy.is_empty() && self.doomed.is_empty() && self.able.is_empty() && self.later.is_empty()
    }

    /// Tasks that could start if others let go of what they hold.
    pub fn waiting(&mut self, now_ms: i64) -> Vec<usize> {
        self.advance(now_ms);
        if self.taken.is_empty() {
            return Vec::new();
        }
        let mut waiting: Vec<usize> =
            self.able.iter().map(|offer| offer.task).filter(|&task| self.is_taken(task)).collect();
        waiting.sort_unstable();
        waiting
    }

    /// Moves due tasks to those that could start.
    fn advance(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        while let Some(&(at_ms, task)) = self.later.first()
            && at_ms <= now_ms
        {
            self.leave(task);
            self.enter(task);
        }
    }

    /// Takes a task out of every set it is in, before it changes.
    fn leave(&mut self, task: usize) {
        let slot = &self.slots[task];
        let place = self.places[task];
        match slot.status {
            Status::InProgress => drop(self.busy.remove(&task)),
            Status::Todo => {
                self.writers -= usize::from(!slot.writes.is_empty());
                self.doomed.remove(&(place, task));
                self.starved.remove(&(place, task));
                self.later.remove(&(slot.not_before_ms, task));
                if let Some(weight) = self.waits.forget_weight(task) {
                    self.able.remove(&Offer { weight: Reverse(weight), place, task });
                    self.able_writers.remove(task, &slot.writes);
                }
            }
            Status::Blocked | Status::Done | Status::Failed | Status::Canceled => {}
        }
    }

    /// Puts a task into the sets that it belongs to.
    fn enter(&mut self, task: usize) {
        let slot = &self.slots[task];
        let place = self.places[task];
        match slot.status {
            Status::InProgress => drop(self.busy.insert(task)),
            Status::Todo => {
                self.writers += usize::from(!slot.writes.is_empty());
                if self.waits.is_doomed(task) {
                    self.doomed.insert((place, task));
                }
                if slot.not_before_ms > self.now_ms {
                    self.later.insert((slot.not_before_ms, task));
                } else if self.waits.has_what_it_needs(task) {
                    let weight = self.waits.weigh(task, &self.slots);
                    self.able.insert(Offer { weight: Reverse(weight), place, task });
                    self.able_writers.insert(task, &self.slots[task].writes);
                    if self.slots[task].passed_over >= PATIENCE {
                        self.starved.insert((place, task));
                    }
                }
            }
            Status::Blocked | Status::Done | Status::Failed | Status::Canceled => {}
        }
    }

    /// A change that concerns every task.
    fn over_all(&mut self, change: impl FnOnce(&mut Self)) {
        (0..self.slots.len()).for_each(|task| self.leave(task));
        change(self);
        (0..self.slots.len()).for_each(|task| self.enter(task));
    }

    fn skips(&self) -> Vec<BoardStep> {
        let step = |&(_, task): &(usize, usize)| {
            let because =
                self.slots[task].needs.iter().copied().find(|&needed| is_lost(self.slots[needed].status))?;
            Some(BoardStep::Skip { task, because })
        };
        self.doomed.iter().filter_map(step).collect()
    }

    fn is_taken(&self, task: usize) -> bool {
        overlap(&self.slots[task].writes, &self.taken)
    }

    fn collide(&self, a: usize, b: usize) -> bool {
        overlap(&self.slots[a].writes, &self.slots[b].writes)
    }

    fn collides_with_any(&self, task: usize, others: &[usize]) -> bool {
        others.iter().any(|&other| self.collide(task, other))
    }
}

/// The delay of the next attempt after the end of the last one: the longer of the plan's and the executor's. Zero where
/// the plan would not repeat it: then a person requested the attempt.
pub fn wait_after(spec: &PlanTask, attempts: &[Attempt]) -> Duration {
    let standing = standing(spec, attempts);
    match standing.choice {
        // What the one before asked for does not concern another model.
        Some(Choice::Alternative(_) | Choice::GiveUp(_)) | None => Duration::ZERO,
        Some(Choice::Retry) => {
            let outcome = attempts.last().and_then(|last| last.outcome.as_ref());
            // The end of a limit is waited for by everybody who uses the same, in another way.
            let asked = outcome.filter(|outcome| outcome.limited.is_none());
            let asked = asked.and_then(|outcome| outcome.retry_after_ms).unwrap_or(0);
            let planned = spec.backoff(i64::from(standing.failures).saturating_add(1));
            planned.max(Duration::from_millis(asked).min(limits::RETRY_AFTER_MAX))
        }
    }
}

pub(crate) fn overlap(a: &[Scope], b: &[Scope]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.overlaps(y)))
}

#[cfg(test)]
mod tests;
