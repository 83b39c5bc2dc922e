//! Which task is started next. Pure: the state of the board in, steps out.

use contract::domain::scope::Scope;
use contract::domain::status::Status;

/// What the scheduler knows of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub name: String,
    pub status: Status,
    /// Indexes of the tasks it waits for.
    pub needs: Vec<usize>,
    pub writes: Vec<Scope>,
    /// A retry that has to wait, on the boot clock.
    pub not_before_ms: i64,
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
}

impl Board {
    /// Everything that can be done now. Tasks in progress hold their write scopes.
    pub fn steps(&self, now_ms: i64) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut busy: Vec<usize> = self.with_status(Status::InProgress);
        for &task in &self.order {
            let slot = &self.slots[task];
            if slot.status != Status::Todo {
                continue;
            }
            if let Some(&because) = slot.needs.iter().find(|&&needed| self.is_lost(needed)) {
                steps.push(Step::Skip { task, because });
                continue;
            }
            let ready = slot.needs.iter().all(|&needed| self.slots[needed].status == Status::Done);
            let free = busy.iter().all(|&other| !collide(&slot.writes, &self.slots[other].writes));
            if ready && free && slot.not_before_ms <= now_ms && busy.len() < self.max_parallel {
                steps.push(Step::Start(task));
                busy.push(task);
            }
        }
        steps
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
    }

    fn with_status(&self, status: Status) -> Vec<usize> {
        (0..self.slots.len()).filter(|&i| self.slots[i].status == status).collect()
    }

    fn is_lost(&self, task: usize) -> bool {
        matches!(self.slots[task].status, Status::Failed | Status::Canceled)
    }
}

fn collide(a: &[Scope], b: &[Scope]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.overlaps(y)))
}

#[cfg(test)]
mod tests;
