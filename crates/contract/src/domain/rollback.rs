//! Rollback: what a task changed in its scope, and what is done to each file to take it back.

mod plan;
mod tree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::limits;
use super::time::Timestamp;
use crate::shape::words;

pub use plan::{PathChange, PathDecision, ScopeSpan, changes, decide, redone};
pub use tree::{Tree, TreeNode, text};

words! {
    Direction {
        /// What the task changed is taken back.
        Undo = "undo",
        /// What was taken back is reapplied.
        Redo = "redo",
    }
}

words! {
    Stage {
        /// In the journal; files may have been changed. The same command finishes it.
        Started = "started",
        Ended = "ended",
    }
}

words! {
    Trigger {
        Manual = "MANUAL",
        TaskFailed = "TASK_FAILED",
        TaskAborted = "TASK_ABORTED",
        /// An engine died during the task, and the next one took it back.
        TaskInterrupted = "TASK_INTERRUPTED",
    }
}

words! {
    /// What a rollback does to a path.
    FileAction { Create = "create", Remove = "remove", Restore = "restore", Mode = "mode" }
}

words! {
    FileStatus {
        /// In a preview: it would be done.
        Planned = "planned",
        Done = "done",
        /// It is already what it is to be.
        Unchanged = "unchanged",
        /// It changed since the task ended, so it was left as it is.
        Conflict = "conflict",
        Failed = "failed",
    }
}

/// What became of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileResult {
    /// Seen from the workspace. Bytes that are not text are shown as `\xNN`.
    pub path: String,
    pub action: FileAction,
    pub status: FileStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many paths ended in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RollbackCounts {
    pub done: u64,
    pub unchanged: u64,
    pub conflicts: u64,
    pub failed: u64,
}

impl RollbackCounts {
    pub fn of(files: &[FileResult]) -> Self {
        let count = |status| files.iter().filter(|file| file.status == status).count() as u64;
        Self {
            done: count(FileStatus::Done),
            unchanged: count(FileStatus::Unchanged),
            conflicts: count(FileStatus::Conflict),
            failed: count(FileStatus::Failed),
        }
    }

    /// Whether something was not brought to what it is to be.
    pub fn is_partial(&self) -> bool {
        self.conflicts + self.failed > 0
    }
}

/// A rollback, as it is kept with the newest attempt that it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rollback {
    pub direction: Direction,
    pub stage: Stage,
    pub trigger: Trigger,
    /// Who asked for it.
    pub by: String,
    /// The number of the first attempt that it covers.
    pub since: i64,
    pub at: Timestamp,
    #[serde(default)]
    pub counts: RollbackCounts,
    /// Some of the paths that were left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<FileResult>,
}

impl Rollback {
    /// The same with its end.
    #[must_use]
    pub fn ended(self, files: &[FileResult]) -> Self {
        let is_left = |file: &&FileResult| matches!(file.status, FileStatus::Conflict | FileStatus::Failed);
        Self {
            stage: Stage::Ended,
            counts: RollbackCounts::of(files),
            left: files.iter().filter(is_left).take(limits::ROLLBACK_LEFT_LISTED_MAX).cloned().collect(),
            ..self
        }
    }

    /// One line for people.
    pub fn told(&self) -> String {
        let RollbackCounts { done, conflicts, failed, .. } = self.counts;
        let what = match (self.stage, self.direction) {
            (Stage::Started, Direction::Undo) => return "its rollback has not ended".to_owned(),
            (Stage::Started, Direction::Redo) => return "its redo has not ended".to_owned(),
            (Stage::Ended, Direction::Undo) => ("rolled back", "restored"),
            (Stage::Ended, Direction::Redo) => ("redone", "reapplied"),
        };
        let paths = if done == 1 { "1 path" } else { &format!("{done} paths") };
        let told = format!("{}: {paths} {}", what.0, what.1);
        let left = if conflicts == 1 { "1 conflict" } else { &format!("{conflicts} conflicts") };
        match (conflicts, failed) {
            (0, 0) => told,
            (_, 0) => format!("{told}; {left}, left as is"),
            (0, _) => format!("E_ROLLBACK_FAILED: {told}; {failed} failed"),
            (_, _) => format!("E_ROLLBACK_FAILED: {told}; {left}, left as is; {failed} failed"),
        }
    }
}

/// What a rollback or a redo of a task is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackCover {
    /// The numbers of the attempts, newest first.
    pub attempts: Vec<i64>,
    /// The rollback that was begun and has not ended.
    pub unfinished: Option<Rollback>,
}

/// Why a task cannot be rolled back or redone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCovered {
    #[error("no attempt of the task has been made")]
    NoAttempt,
    #[error("the task is rolled back already")]
    RolledBack,
    #[error("the task is not rolled back")]
    NotRolledBack,
    #[error("a redo of the task has not ended; repeat it first")]
    RedoUnfinished,
    #[error("a rollback of the task has not ended; repeat it first")]
    UndoUnfinished,
}

/// The attempts that a rollback covers: those since the last one that was rolled back and not redone. A redo covers what
/// the newest rollback covered.
pub fn covered(attempts: &[Attempt], direction: Direction) -> Result<RollbackCover, NotCovered> {
    let newest = attempts.last().ok_or(NotCovered::NoAttempt)?;
    let between = |since: i64| {
        let numbers = attempts.iter().rev().map(|attempt| attempt.begun.number);
        numbers.filter(|number| *number >= since).collect::<Vec<i64>>()
    };
    let last = newest.rollback.as_ref().map(|last| (last, last.direction, last.stage));
    match (direction, last) {
        (Direction::Undo, Some((last, Direction::Undo, Stage::Started)))
        | (Direction::Redo, Some((last, Direction::Redo, Stage::Started))) => {
            Ok(RollbackCover { attempts: between(last.since), unfinished: Some(last.clone()) })
        }
        (Direction::Undo, Some((_, Direction::Redo, Stage::Started))) => Err(NotCovered::RedoUnfinished),
        (Direction::Redo, Some((_, Direction::Undo, Stage::Started))) => Err(NotCovered::UndoUnfinished),
        // What was left by the first time may be possible now.
        (Direction::Undo, Some((last, Direction::Undo, Stage::Ended))) if last.counts.is_partial() => {
            Ok(RollbackCover { attempts: between(last.since), unfinished: None })
        }
        (Direction::Undo, Some((_, Direction::Undo, Stage::Ended))) => Err(NotCovered::RolledBack),
        (Direction::Undo, Some((last, Direction::Redo, Stage::Ended)))
        | (Direction::Redo, Some((last, Direction::Undo, Stage::Ended))) => {
            Ok(RollbackCover { attempts: between(last.since), unfinished: None })
        }
        (Direction::Redo, Some((last, Direction::Redo, Stage::Ended))) if last.counts.is_partial() => {
            Ok(RollbackCover { attempts: between(last.since), unfinished: None })
        }
        (Direction::Redo, Some((_, Direction::Redo, Stage::Ended)) | None) => Err(NotCovered::NotRolledBack),
        (Direction::Undo, None) => {
            let is_back = |attempt: &&Attempt| {
                attempt.rollback.as_ref().is_some_and(|last| last.direction == Direction::Undo)
            };
            // What one that has not ended covers is not back yet.
            let since = attempts.iter().rev().find(is_back).map_or(0, |attempt| match &attempt.rollback {
                Some(last) if last.stage == Stage::Started => last.since,
                Some(_) | None => attempt.begun.number + 1,
            });
            Ok(RollbackCover { attempts: between(since), unfinished: None })
        }
    }
}

/// Whether a rollback or a redo of a task has not ended, and no later one that has covers the same attempts.
pub fn is_open(attempts: &[Attempt]) -> bool {
    let mut ended_since = i64::MAX;
    for attempt in attempts.iter().rev() {
        match attempt.rollback.as_ref().map(|last| (last.stage, last.since)) {
            Some((Stage::Started, _)) if attempt.begun.number < ended_since => return true,
            Some((Stage::Ended, since)) => ended_since = ended_since.min(since),
            Some((Stage::Started, _)) | None => {}
        }
    }
    false
}

#[cfg(test)]
mod tests;
