//! Takes back what a task changed in its scope, from the snapshots that were taken before its attempts.
//!
//! The journal comes first: who rolls back, and that it has begun, is in the store with the locks of the scope before a
//! file is touched. A rollback that was killed is finished by repeating the command.

mod journal;
mod locks;
pub mod preview;
pub mod undo;

use contract::domain::attempt::{Attempt, AttemptId};
use contract::domain::code::ErrorCode;
use contract::domain::confinement::GitUse;
use contract::domain::limits;
use contract::domain::rollback::{Direction, FileResult, FileStatus, NotCovered, RollbackCover, covered};
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::{Now, Timestamp};
use store::Tx;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::run::cancel::was_canceled_later;

pub(crate) use journal::record;
pub(crate) use locks::refuse_meanwhile;

/// A task, and the attempts that are rolled back or redone.
pub(crate) struct RollbackSubject {
    pub(crate) run: Run,
    pub(crate) task: Task,
    /// Newest first.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) covered: RollbackCover,
}

impl RollbackSubject {
    /// The current subject, and the time since which no attempt worked on it.
    fn look(cx: &mut Context, id: &str, direction: Direction) -> Result<(Self, Option<Timestamp>)> {
        let now = cx.clock.now();
        cx.read_viewing(|tx, view| {
            let subject = Self::load(tx, id, direction, (&now, view))?;
            let silent_since = subject.silent_since(tx)?;
            Ok((subject, silent_since))
        })
    }

    /// Refused while the task is being worked, because its changes are not final.
    pub(crate) fn load(
        tx: &Tx<'_>,
        id: &str,
        direction: Direction,
        (now, view): (&Now, &HostView),
    ) -> Result<Self> {
        let task = crate::task::required(tx, id)?;
        let Some(part) = &task.part else {
            return Err(Error::new(
                ErrorCode::NotFound,
                "the task is not part of a run, so writ took no snapshot of it",
            )
            .hint("a snapshot is taken before each attempt of a plan's task with `writes`"));
        };
        if part.spec.worktree.is_some() {
            let (name, run) = (&part.spec.id, &part.run_id);
            if task.status != Status::Done {
                let message =
                    format!("`{name}` worked in a clone, and nothing of it came into the workspace");
                let hint = "`writ worktree list` shows its clone";
                return Err(Error::new(ErrorCode::NotFound, message).hint(hint));
            }
            let message =
                format!("`{name}` worked in a clone, and its work came into the workspace as a merge");
            let hint = format!(
                "`git revert -m 1 COMMIT` takes a merge back; `git log --merges --grep='Writ-Run: {run}'` lists those of the run"
            );
            return Err(Error::new(ErrorCode::NotFound, message).hint(hint));
        }
        if part.spec.writes.is_empty() {
            let message = format!("`{}` declares no `writes`, so it has no scope to roll back", part.spec.id);
            return Err(Error::new(ErrorCode::NotFound, message).hint(
                "name the paths that the task may change in `writes`, and a snapshot of them is taken",
            ));
        }
        let run = crate::run::required(tx, &part.run_id)?;
        let is_assigned = tx.last_assignment(&task.id)?.is_some_and(|open| open.ended.is_none());
        let is_open = tx.has_open_attempt(&task.id)?;
        if is_assigned || is_open {
            let is_worked = is_assigned || crate::run::is_worked_by_another(&run, now, view)?;
            return Err(not_ended(&part.spec.id, &run, is_worked));
        }
        let all = tx.attempts_of_task(&task.id)?;
        let covered = covered(&all, direction).map_err(refusal)?;
        let is_covered = |attempt: &Attempt| covered.attempts.contains(&attempt.begun.number);
        let attempts = all.into_iter().rev().filter(is_covered).collect();
        Ok(Self { run, task, attempts, covered })
    }

    /// From when on nothing of writ's wrote in the scope of the newest attempt, if its run was canceled after its engine
    /// had died.
    fn silent_since(&self, tx: &Tx<'_>) -> Result<Option<Timestamp>> {
        let Some(newest) = self.attempts.first().filter(|newest| was_canceled_later(newest)) else {
            return Ok(None);
        };
        let known = tx.heartbeat_of(&newest.begun.id)?;
        Ok(known.map(|known| known.plus(limits::ENGINE_SILENCE_MAX)))
    }

    pub(crate) fn ids(&self) -> Vec<AttemptId> {
        self.attempts.iter().map(|attempt| attempt.begun.id.clone()).collect()
    }

    /// Whether the task could commit in the workspace.
    fn keeps_commits(&self) -> bool {
        self.task.part.as_ref().is_some_and(|part| part.spec.git == GitUse::Commit)
    }

    pub(crate) fn name(&self) -> String {
        self.task.part.as_ref().map_or_else(String::new, |part| part.spec.id.clone())
    }
}

/// What an attempt will leave, or has left, is not known before it is closed.
fn not_ended(name: &str, run: &Run, is_worked: bool) -> Error {
    if is_worked {
        let message = format!("`{name}` is being worked on");
        return Error::new(ErrorCode::WrongState, message).hint("cancel the task or wait for its end");
    }
    let message = format!("`{name}` was interrupted, and nobody has decided about it yet: its engine ended");
    let id = &run.asked.id;
    Error::new(ErrorCode::WrongState, message).hint(format!(
        "`writ run --continue {id}` goes on with the run, `writ cancel {id}` gives it up; after either, roll back"
    ))
}

fn refusal(why: NotCovered) -> Error {
    let hint = match why {
        NotCovered::NoAttempt => "run it first; there is nothing to take back",
        NotCovered::RolledBack => "use --redo to reapply what was taken back",
        NotCovered::NotRolledBack => "roll it back first",
        NotCovered::RedoUnfinished => "repeat the command with --redo",
        NotCovered::UndoUnfinished => "repeat the command without --redo",
    };
    Error::new(ErrorCode::WrongState, why.to_string()).hint(hint)
}

/// As many results as are listed, those that were left as they are first, and how many are not listed.
pub(crate) fn listed(mut files: Vec<FileResult>) -> (Vec<FileResult>, u64) {
    files.sort_by_key(|file| !matches!(file.status, FileStatus::Conflict | FileStatus::Failed));
    let count = files.len();
    let mut bytes = 0;
    let fits = |file: &FileResult| {
        bytes += serde_json::to_string(file).map_or(0, |text| text.len());
        bytes <= limits::ROLLBACK_LISTED_BYTES_MAX
    };
    files.truncate(limits::ROLLBACK_PATHS_LISTED_MAX);
    let kept = files.iter().map(fits).take_while(|fits| *fits).count();
    files.truncate(kept);
    (files, (count - kept) as u64)
}
