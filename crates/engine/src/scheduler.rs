//! Which task is started next. Pure: the state of the board in, steps out.

mod choice;

use std::time::Duration;

use contract::domain::attempt::{Attempt, AttemptState};
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::plan::PlanTask;

use choice::{Candidate, choose};

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
pub enum Step {
    Start(usize),
    /// It can never start: something it needs failed or was canceled.
    Skip {
        task: usize,
        because: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    pub slots: Vec<Slot>,
    /// Indexes in the order in which tasks are offered.
    pub order: Vec<usize>,
    pub max_parallel: usize,
    /// What others hold, outside of this board.
    pub taken: Vec<Scope>,
}

impl Board {
    /// Everything that can be done now. Tasks in progress hold their write scopes. Among those that could start, the
    /// ones that together matter most are started; one that was passed over too often comes first.
    pub fn steps(&self, now_ms: i64) -> Vec<Step> {
        let busy = self.with_status(Status::InProgress);
        let room = self.max_parallel.saturating_sub(busy.len());
        let mut started: Vec<usize> = Vec::new();
        let mut kept_free: Vec<usize> = Vec::new();
        let ready = self.ready(now_ms);
        for task in ready.iter().copied().filter(|&task| self.slots[task].passed_over >= PATIENCE) {
            if self.collides_with_any(task, &busy) || started.len() == room {
                kept_free.push(task);
            } else if !self.collides_with_any(task, &started) {
                started.push(task);
            }
        }
        let candidates: Vec<Candidate> = ready
            .into_iter()
            .filter(|task| !started.contains(task))
            .filter(|&task| {
                [&busy, &started, &kept_free].iter().all(|others| !self.collides_with_any(task, others))
            })
            .map(|task| Candidate { task, weight: self.weight(task) })
            .collect();
        let collide = |a: usize, b: usize| self.collide(a, b);
        started.extend(choose(&candidates, collide, room.saturating_sub(started.len())));
        self.skips().chain(started.into_iter().map(Step::Start)).collect()
    }

    /// Remembers who was passed over by these steps.
    pub fn note(&mut self, steps: &[Step], now_ms: i64) {
        let started = |step: &Step| if let Step::Start(task) = step { Some(*task) } else { None };
        let started: Vec<usize> = steps.iter().filter_map(started).collect();
        for task in self.ready(now_ms) {
            if !started.contains(&task) && self.collides_with_any(task, &started) {
                self.slots[task].passed_over = self.slots[task].passed_over.saturating_add(1);
            }
        }
    }

    /// When the next waiting retry becomes due.
    pub fn next_due_ms(&self, now_ms: i64) -> Option<i64> {
        let waiting =
            self.slots.iter().filter(|slot| slot.status == Status::Todo && slot.not_before_ms > now_ms);
        waiting.map(|slot| slot.not_before_ms).min()
    }

    /// Nothing runs and nothing will.
    pub fn is_settled(&self, now_ms: i64) -> bool {
        self.with_status(Status::InProgress).is_empty()
            && self.steps(now_ms).is_empty()
            && self.next_due_ms(now_ms).is_none()
            && self.waiting(now_ms).is_empty()
    }

    /// Tasks that could start if others let go of what they hold.
    pub fn waiting(&self, now_ms: i64) -> Vec<usize> {
        let due = |slot: &Slot| slot.status == Status::Todo && slot.not_before_ms <= now_ms;
        let is_waiting = |&task: &usize| {
            let slot = &self.slots[task];
            due(slot) && self.has_what_it_needs(slot) && overlap(&slot.writes, &self.taken)
        };
        (0..self.slots.len()).filter(is_waiting).collect()
    }

    /// Tasks that wait for nothing but room, in the order in which they are offered.
    fn ready(&self, now_ms: i64) -> Vec<usize> {
        let is_ready = |&task: &usize| {
            let slot = &self.slots[task];
            slot.status == Status::Todo
                && slot.not_before_ms <= now_ms
                && self.has_what_it_needs(slot)
                && !overlap(&slot.writes, &self.taken)
        };
        self.order.iter().copied().filter(is_ready).collect()
    }

    fn has_what_it_needs(&self, slot: &Slot) -> bool {
        slot.needs.iter().all(|&needed| self.slots[needed].status == Status::Done)
    }

    fn skips(&self) -> impl Iterator<Item = Step> {
        self.order.iter().filter_map(|&task| {
            let slot = &self.slots[task];
            let because = *slot.needs.iter().find(|&&needed| self.is_lost(needed))?;
            (slot.status == Status::Todo).then_some(Step::Skip { task, because })
        })
    }

    /// How much starting it is worth: first by priority, then by what waits for it, directly or not.
    fn weight(&self, task: usize) -> u128 {
        // More than all tasks of a plan can unlock together.
        const CLASS: u128 = 1_000_000;
        let class = match self.slots[task].priority {
            Priority::Low => 0,
            Priority::Normal => 1,
            Priority::High => 2,
            Priority::Critical => 3,
        };
        CLASS.pow(class) * (1 + self.unlocks(task))
    }

    fn unlocks(&self, task: usize) -> u128 {
        let mut waits = vec![false; self.slots.len()];
        let mut next = vec![task];
        let mut count = 0;
        while let Some(done) = next.pop() {
            for (other, slot) in self.slots.iter().enumerate() {
                if !waits[other] && slot.status == Status::Todo && slot.needs.contains(&done) {
                    waits[other] = true;
                    count += 1;
                    next.push(other);
                }
            }
        }
        count
    }

    fn collide(&self, a: usize, b: usize) -> bool {
        overlap(&self.slots[a].writes, &self.slots[b].writes)
    }

    fn collides_with_any(&self, task: usize, others: &[usize]) -> bool {
        others.iter().any(|&other| self.collide(task, other))
    }

    fn with_status(&self, status: Status) -> Vec<usize> {
        (0..self.slots.len()).filter(|&i| self.slots[i].status == status).collect()
    }

    fn is_lost(&self, task: usize) -> bool {
        matches!(self.slots[task].status, Status::Failed | Status::Canceled)
    }
}

/// How long the next attempt waits after the end of the last one: what the plan says or what the executor asked for,
/// whichever is longer. Nothing where the plan would not repeat it: then a person asked for it.
pub fn wait_after(spec: &PlanTask, attempts: &[Attempt]) -> Duration {
    let failures = attempts.iter().filter(|attempt| attempt.state == AttemptState::Failed).count();
    let Some(last) = attempts.last().filter(|last| last.state == AttemptState::Failed) else {
        return Duration::ZERO;
    };
    if failures > usize::try_from(spec.retries).unwrap_or(usize::MAX) {
        return Duration::ZERO;
    }
    let asked = last.outcome.as_ref().and_then(|outcome| outcome.retry_after_ms).unwrap_or(0);
    let planned = spec.backoff(i64::try_from(failures).unwrap_or(i64::MAX).saturating_add(1));
    planned.max(Duration::from_millis(asked).min(limits::RETRY_AFTER_MAX))
}

pub(crate) fn overlap(a: &[Scope], b: &[Scope]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.overlaps(y)))
}

#[cfg(test)]
mod tests;
