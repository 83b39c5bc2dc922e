//! The checkpoints of a task: which of its checks they are made of, and what follows where one fails.

use serde::{Deserialize, Serialize};

use super::check::CheckSeen;
use super::report::CheckpointSeen;
use crate::domain::report::CheckpointStatus;
use crate::shape::words;

words! {
    /// What follows where a checkpoint fails.
    Recovery {
        /// The attempt fails at once, and is retried as any failed one.
        Retry = "retry",
        /// The task ends: it is not retried.
        Abort = "abort",
        /// The next checkpoint follows, and the task can be done in part.
        Continue = "continue",
        /// The next checkpoint follows, and the attempt fails in the end.
        Report = "report",
    }
}

/// A checkpoint of a task's author. Checkpoints are in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: String,
    pub phase: String,
    /// The first of its checks in the list of the task, and how many it has.
    pub first: usize,
    pub count: usize,
    pub recovery: Recovery,
    /// Its author skips it: it has no checks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_skipped: bool,
}

impl Checkpoint {
    /// The index after its last check.
    pub fn end(&self) -> usize {
        self.first.saturating_add(self.count)
    }

    fn has(&self, check: usize) -> bool {
        (self.first..self.end()).contains(&check)
    }
}

/// What follows where this check fails. A check of no checkpoint ends the attempt.
pub fn recovery(checkpoints: &[Checkpoint], check: usize) -> Recovery {
    checkpoints.iter().find(|each| each.has(check)).map_or(Recovery::Retry, |each| each.recovery)
}

/// The checks after this one, of `all`, that are not run because it failed: they belong to the same checkpoint.
pub fn not_run(checkpoints: &[Checkpoint], check: usize, all: usize) -> std::ops::Range<usize> {
    let end = checkpoints.iter().find(|each| each.has(check)).map(Checkpoint::end);
    check + 1..end.unwrap_or(0).min(all).max(check + 1)
}

/// The checkpoint that ends the task, if one that failed does.
pub fn aborted<'c>(checkpoints: &'c [Checkpoint], checks: &[CheckSeen]) -> Option<&'c str> {
    let has_failed =
        |each: &&Checkpoint| each.recovery == Recovery::Abort && first_failed(each, checks).is_some();
    checkpoints.iter().find(has_failed).map(|each| each.id.as_str())
}

/// Checkpoints that failed and let the task be done in part, each in one line.
pub fn tolerated(checkpoints: &[Checkpoint], checks: &[CheckSeen]) -> Vec<String> {
    let continued = checkpoints.iter().filter(|each| each.recovery == Recovery::Continue);
    let told = continued.filter_map(|each| {
        first_failed(each, checks).map(|check| format!("checkpoint {} failed: {}", each.id, check.fault()))
    });
    told.collect()
}

/// Each checkpoint as the checks that were run show it.
pub fn seen(checkpoints: &[Checkpoint], checks: &[CheckSeen]) -> Vec<CheckpointSeen> {
    let each = |point: &Checkpoint| {
        let ran = ran(point, checks);
        let failed = first_failed(point, checks);
        let (status, problem) = match failed {
            Some(check) => (CheckpointStatus::Fail, Some(check.fault())),
            None if point.is_skipped => (CheckpointStatus::Skip, Some("the TASK skips it".to_owned())),
            None if point.count == 0 => {
                (CheckpointStatus::Pending, Some("it has nothing that can be checked".to_owned()))
            }
            None if ran.len() < point.count => (CheckpointStatus::Pending, None),
            None => (CheckpointStatus::Pass, None),
        };
        CheckpointSeen { checkpoint_id: point.id.clone(), phase_id: point.phase.clone(), status, problem }
    };
    checkpoints.iter().map(each).collect()
}

fn ran<'s>(point: &Checkpoint, checks: &'s [CheckSeen]) -> &'s [CheckSeen] {
    let end = point.end().min(checks.len());
    checks.get(point.first..end).unwrap_or_default()
}

fn first_failed<'s>(point: &Checkpoint, checks: &'s [CheckSeen]) -> Option<&'s CheckSeen> {
    ran(point, checks).iter().find(|check| !check.passed)
}

#[cfg(test)]
mod tests;
