//! What each task still waits for, kept in step with every change, and what waits for it.

use contract::domain::priority::Priority;
use contract::domain::status::Status;

use super::Slot;

/// Tasks counted among those that wait for one. More make it no more important.
const UNLOCKED_COUNTED_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waits {
    dependents: Vec<Vec<usize>>,
    /// How many of the tasks that it needs are not done.
    open: Vec<usize>,
    /// How many of them failed or were canceled.
    lost: Vec<usize>,
    /// The weight of each task that could start.
    weights: Vec<Option<u128>>,
    /// In which count a task was seen last.
    seen: Vec<u64>,
    counts: u64,
}

impl Waits {
    pub(super) fn new(slots: &[Slot]) -> Self {
        let mut dependents = vec![Vec::new(); slots.len()];
        for (task, slot) in slots.iter().enumerate() {
            slot.needs.iter().for_each(|&needed| dependents[needed].push(task));
        }
        let count = |slot: &Slot, fits: fn(Status) -> bool| {
            slot.needs.iter().filter(|&&needed| fits(slots[needed].status)).count()
        };
        Self {
            dependents,
            open: slots.iter().map(|slot| count(slot, is_open)).collect(),
            lost: slots.iter().map(|slot| count(slot, is_lost)).collect(),
            weights: vec![None; slots.len()],
            seen: vec![0; slots.len()],
            counts: 0,
        }
    }

    /// The tasks that need this one, if a change between these states means something to them.
    pub(super) fn concerned(&self, task: usize, before: Status, after: Status) -> Vec<usize> {
        let same = is_open(before) == is_open(after) && is_lost(before) == is_lost(after);
        if same { Vec::new() } else { self.dependents[task].clone() }
    }

    /// Something that the task needs came from one state to another.
    pub(super) fn moved(&mut self, task: usize, before: Status, after: Status) {
        let step = |count: &mut usize, fits: fn(Status) -> bool| {
            *count = *count + usize::from(fits(after)) - usize::from(fits(before));
        };
        step(&mut self.open[task], is_open);
        step(&mut self.lost[task], is_lost);
    }

    pub(super) fn has_what_it_needs(&self, task: usize) -> bool {
        self.open[task] == 0
    }

    pub(super) fn is_doomed(&self, task: usize) -> bool {
        self.lost[task] > 0
    }

    /// How much starting the task is worth: first by priority, then by what waits for it, directly or not.
    pub(super) fn weigh(&mut self, task: usize, slots: &[Slot]) -> u128 {
        // More than all tasks that are counted.
        const CLASS: u128 = 1_000_000;
        let class = match slots[task].priority {
            Priority::Low => 0,
            Priority::Normal => 1,
            Priority::High => 2,
            Priority::Critical => 3,
        };
        let weight = CLASS.pow(class) * (1 + self.unlocked_by(task, slots));
        self.weights[task] = Some(weight);
        weight
    }

    #[cfg(test)]
    pub(super) fn weight(&self, task: usize) -> Option<u128> {
        self.weights[task]
    }

    /// The weight that the task was given last; it has none from here on.
    pub(super) fn forget_weight(&mut self, task: usize) -> Option<u128> {
        self.weights[task].take()
    }

    fn unlocked_by(&mut self, task: usize, slots: &[Slot]) -> u128 {
        self.counts += 1;
        let mut next = vec![task];
        let mut count = 0;
        while let Some(done) = next.pop() {
            for &other in &self.dependents[done] {
                if self.seen[other] == self.counts || slots[other].status != Status::Todo {
                    continue;
                }
                self.seen[other] = self.counts;
                count += 1;
                if count == UNLOCKED_COUNTED_MAX {
                    return UNLOCKED_COUNTED_MAX as u128;
                }
                next.push(other);
            }
        }
        count as u128
    }
}

fn is_open(status: Status) -> bool {
    status != Status::Done
}

pub(super) fn is_lost(status: Status) -> bool {
    matches!(status, Status::Failed | Status::Canceled)
}
