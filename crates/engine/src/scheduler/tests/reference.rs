//! The same board, written so that it looks at every task for every question.

use super::*;

pub(super) struct Naive {
    slots: Vec<Slot>,
    order: Vec<usize>,
    max_parallel: usize,
    taken: Vec<Scope>,
    /// Weights are taken when a task becomes able to start.
    weights: Vec<Option<u128>>,
}

impl Naive {
    pub(super) fn of(board: &Board, order: &[usize]) -> Self {
        Self {
            slots: board.slots.clone(),
            order: order.to_vec(),
            max_parallel: board.max_parallel,
            taken: board.taken.clone(),
            weights: (0..board.slots.len()).map(|task| board.waits.weight(task)).collect(),
        }
    }

    pub(super) fn steps(&self, now_ms: i64) -> Vec<BoardStep> {
        let busy = self.busy();
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
        let candidates: Vec<StartCandidate> = ready
            .into_iter()
            .filter(|task| !started.contains(task))
            .filter(|&task| {
                [&busy, &started, &kept_free].iter().all(|others| !self.collides_with_any(task, others))
            })
            .map(|task| StartCandidate { task, weight: self.weight(task) })
            .collect();
        let collide = |a: usize, b: usize| overlap(&self.slots[a].writes, &self.slots[b].writes);
        started.extend(choose(&candidates, collide, room.saturating_sub(started.len())));
        self.skips().chain(started.into_iter().map(BoardStep::Start)).collect()
    }

    pub(super) fn passed_over_after(&self, steps: &[BoardStep], now_ms: i64) -> Vec<u32> {
        let started: Vec<usize> = steps
            .iter()
            .filter_map(|step| if let BoardStep::Start(task) = step { Some(*task) } else { None })
            .collect();
        let ready = self.ready(now_ms);
        let more = |task: usize| {
            let passed =
                ready.contains(&task) && !started.contains(&task) && self.collides_with_any(task, &started);
            u32::from(passed)
        };
        self.slots.iter().enumerate().map(|(task, slot)| slot.passed_over + more(task)).collect()
    }

    pub(super) fn next_due_ms(&self, now_ms: i64) -> Option<i64> {
        let waiting =
            self.slots.iter().filter(|slot| slot.status == Status::Todo && slot.not_before_ms > now_ms);
        waiting.map(|slot| slot.not_before_ms).min()
    }

    pub(super) fn is_settled(&self, now_ms: i64) -> bool {
        self.busy().is_empty()
            && self.steps(now_ms).is_empty()
            && self.next_due_ms(now_ms).is_none()
            && self.waiting(now_ms).is_empty()
    }

    pub(super) fn waiting(&self, now_ms: i64) -> Vec<usize> {
        let is_waiting =
            |&task: &usize| self.is_due(task, now_ms) && overlap(&self.slots[task].writes, &self.taken);
        (0..self.slots.len()).filter(is_waiting).collect()
    }

    fn ready(&self, now_ms: i64) -> Vec<usize> {
        let is_ready =
            |&task: &usize| self.is_due(task, now_ms) && !overlap(&self.slots[task].writes, &self.taken);
        self.order.iter().copied().filter(is_ready).collect()
    }

    fn is_due(&self, task: usize, now_ms: i64) -> bool {
        let slot = &self.slots[task];
        let has_needs = slot.needs.iter().all(|&needed| self.slots[needed].status == Status::Done);
        slot.status == Status::Todo && slot.not_before_ms <= now_ms && has_needs
    }

    fn skips(&self) -> impl Iterator<Item = BoardStep> {
        self.order.iter().filter_map(|&task| {
            let slot = &self.slots[task];
            let because = *slot.needs.iter().find(|&&needed| is_lost(self.slots[needed].status))?;
            (slot.status == Status::Todo).then_some(BoardStep::Skip { task, because })
        })
    }

    fn weight(&self, task: usize) -> u128 {
        const CLASS: u128 = 1_000_000;
        if let Some(weight) = self.weights[task] {
            return weight;
        }
        let mut waits = vec![false; self.slots.len()];
        let (mut next, mut count) = (vec![task], 0);
        while let Some(done) = next.pop() {
            for (other, slot) in self.slots.iter().enumerate() {
                if !waits[other] && slot.status == Status::Todo && slot.needs.contains(&done) {
                    waits[other] = true;
                    count += 1;
                    next.push(other);
                }
            }
        }
        let class = match self.slots[task].priority {
            Priority::Low => 0,
            Priority::Normal => 1,
            Priority::High => 2,
            Priority::Critical => 3,
        };
        CLASS.pow(class) * (1 + count)
    }

    fn busy(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|&i| self.slots[i].status == Status::InProgress).collect()
    }

    fn collides_with_any(&self, task: usize, others: &[usize]) -> bool {
        others.iter().any(|&other| overlap(&self.slots[task].writes, &self.slots[other].writes))
    }
}
