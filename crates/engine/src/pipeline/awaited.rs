//! Layers with a later outcome: started on a thread, answered by a message, refused at a deadline.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::time::human_duration;

use super::elapsed_ms;
use super::outcome::{GiveUp, LayerEnd, LayerResult, Outcome, Unsettled};

/// Slow layers that one run has under way; further ones start when an answer has come.
const AWAITED_MAX: usize = limits::PARALLEL_MAX;

/// Which layer is run for what: the run, or the task with this index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerKey {
    pub(crate) task: Option<usize>,
    pub(crate) id: String,
}

/// The answer of a slow layer, on its way to the loop.
struct Answer {
    key: LayerKey,
    ticket: u64,
    result: LayerResult,
}

/// How far a layer is that may be slow.
#[derive(Debug, PartialEq)]
pub(super) enum AwaitProgress {
    NotStarted,
    UnderWay,
    Ended(LayerResult),
}

enum AwaitState {
    Pending { ticket: u64, deadline_ms: i64, earlier: Outcome, give_up: GiveUp },
    Arrived(LayerResult),
}

pub(super) struct Awaited {
    sender: mpsc::SyncSender<Answer>,
    answers: mpsc::Receiver<Answer>,
    timeout: Duration,
    tickets: u64,
    states: BTreeMap<LayerKey, AwaitState>,
}

impl Awaited {
    pub(super) fn new(timeout: Duration) -> Self {
        let (sender, answers) = mpsc::sync_channel(AWAITED_MAX);
        Self { sender, answers, timeout, tickets: 0, states: BTreeMap::new() }
    }

    /// How far a slow layer is. An answer stays until it is forgotten, so that a step that is tried again does not ask
    /// again.
    pub(super) fn look(&self, key: &LayerKey, now_ms: i64) -> AwaitProgress {
        match self.states.get(key) {
            None => AwaitProgress::NotStarted,
            Some(AwaitState::Arrived(result)) => AwaitProgress::Ended(result.clone()),
            Some(AwaitState::Pending { deadline_ms, earlier, .. }) if now_ms >= *deadline_ms => {
                AwaitProgress::Ended(self.too_late(key, earlier))
            }
            Some(AwaitState::Pending { .. }) => AwaitProgress::UnderWay,
        }
    }

    /// Starts the work of a layer, unless too many are under way.
    pub(super) fn start(&mut self, key: &LayerKey, now_ms: i64, slow: Unsettled) {
        let Unsettled { earlier, work } = slow;
        let pending =
            self.states.values().filter(|state| matches!(state, AwaitState::Pending { .. })).count();
        if pending >= AWAITED_MAX {
            return;
        }
        self.tickets += 1;
        let (ticket, give_up) = (self.tickets, GiveUp::default());
        let deadline_ms = now_ms.saturating_add(i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX));
        let (sender, answer_to, before) = (self.sender.clone(), key.clone(), earlier.clone());
        let thread_give_up = give_up.clone();
        let pending = AwaitState::Pending { ticket, deadline_ms, earlier, give_up };
        self.states.insert(key.clone(), pending);
        // A thread that cannot be started, or that panics, gives no answer: the deadline refuses the layer.
        let body = move || {
            let begun = Instant::now();
            let outcome = work.call(&thread_give_up).after(before);
            let result = outcome.settle(elapsed_ms(begun)).unwrap_or_else(|slow| {
                refused(slow.earlier, "AWAITED_TWICE", "a slow layer may not wait for another one".into())
            });
            // Fails only if the runner is gone.
            sender.send(Answer { key: answer_to, ticket, result }).ok();
        };
        thread::Builder::new().name(format!("layer {}", key.id)).spawn(body).ok();
    }

    /// Keeps the answers that have come. Gives the layers that are no longer awaited because of it.
    pub(super) fn arrivals(&mut self) -> Vec<LayerKey> {
        let answers: Vec<Answer> = self.answers.try_iter().collect();
        answers.into_iter().filter_map(|answer| self.arrive(answer)).collect()
    }

    fn arrive(&mut self, answer: Answer) -> Option<LayerKey> {
        match self.states.get(&answer.key)? {
            AwaitState::Pending { ticket, .. } if *ticket == answer.ticket => {}
            AwaitState::Pending { .. } | AwaitState::Arrived(_) => return None,
        }
        self.states.insert(answer.key.clone(), AwaitState::Arrived(answer.result));
        Some(answer.key)
    }

    /// Until when the layers of a task are waited for, if one is.
    pub(super) fn deadline_ms(&self, task: Option<usize>) -> Option<i64> {
        let of_task = self.states.iter().filter(|(key, _)| key.task == task);
        let deadlines = of_task.filter_map(|(_, state)| match state {
            AwaitState::Pending { deadline_ms, .. } => Some(*deadline_ms),
            AwaitState::Arrived(_) => None,
        });
        deadlines.min()
    }

    /// Forgets the answers for a task, and tells work that is still under way to stop.
    pub(super) fn forget(&mut self, task: Option<usize>) {
        self.states.retain(|key, state| {
            let keeps = key.task != task;
            if !keeps {
                state.give_up();
            }
            keeps
        });
    }

    fn too_late(&self, key: &LayerKey, earlier: &Outcome) -> LayerResult {
        let reason = format!("{} did not answer within {}", key.id, human_duration(self.timeout));
        let reason = Reason::coded(FailureCode::Timeout, reason);
        let mut result = refused(earlier.clone(), "NO_ANSWER", reason);
        result.timing_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        result
    }
}

impl AwaitState {
    fn give_up(&self) {
        match self {
            AwaitState::Pending { give_up, .. } => give_up.set(),
            AwaitState::Arrived(_) => {}
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.states.values().for_each(AwaitState::give_up);
    }
}

fn refused(earlier: Outcome, code: &str, reason: Reason) -> LayerResult {
    let Outcome { decisions, delta, refs, .. } = earlier.and(code, reason.to_string());
    LayerResult { decisions, delta, refs, exit: LayerEnd::Refuse(reason), timing_ms: 0 }
}

#[cfg(test)]
mod tests;
