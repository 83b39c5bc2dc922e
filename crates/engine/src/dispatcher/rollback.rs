//! Keeps what a task may write before an attempt, and takes back what the attempt changed where that was asked for.

use std::path::Path;

use contract::domain::attempt::{Attempt, AttemptId, Taken};
use contract::domain::rollback::{Counts, Direction, FileResult, FileStatus, Rollback, Stage, Trigger};
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::lock::list::lost_to;
use ops::run::journal::Entry;

use super::{Committed, Dispatcher};
use crate::launcher::with_causes;
use crate::live::Live;
use crate::pipeline::Mark;
use crate::snapshots::{Beside, Between, Fault, Job, Known, NOT_TAKEN, Subject};

/// What a rollback by an engine brought about.
pub(crate) struct Rolled {
    pub(crate) told: String,
    /// `None` if it could not be carried out; the same command of a person may.
    pub(crate) entry: Option<Entry>,
    /// Whether everything is as it was before the attempt.
    pub(crate) is_whole: bool,
    /// Whether everything is, except what limits kept out of the snapshot.
    pub(crate) is_whole_but_limits: bool,
    pub(crate) counts: Counts,
    /// Some of the paths that were left, each with the reason.
    pub(crate) left: Vec<FileResult>,
}

impl Rolled {
    fn not_done(told: String) -> Self {
        Self {
            told,
            entry: None,
            is_whole: false,
            is_whole_but_limits: false,
            counts: Counts::default(),
            left: Vec::new(),
        }
    }
}

impl Dispatcher<'_> {
    /// Keeps the scope of an attempt that is about to begin. `None` if it has none.
    pub(super) fn take_snapshot(&self, task: usize, attempt: &AttemptId) -> Option<Taken> {
        let spec = &self.part(task).spec;
        let needless = if self.is_isolated(task) {
            Some("rollback has no effect: the task works in a clone, and only work that is done is merged")
        } else {
            let is_nowhere = spec.writes.is_empty();
            is_nowhere.then_some("rollback has no effect: the task names no paths that it may write")
        };
        if let Some(note) = needless {
            return spec.rollback.then(|| Taken { notes: vec![note.to_owned()], ..Taken::default() });
        }
        if !self.settings.snapshots.is_kept() {
            return None;
        }
        // First, so that a copy in the scope is part of what was there before.
        let notes = self.apply_snapshot_strategies(task, attempt);
        let taken = self.about_scope(task, attempt, |subject| {
            self.settings.snapshots.take(&self.settings.index, subject)
        });
        let failed = |fault| Taken { failed: Some(with_causes(&fault)), ..Taken::default() };
        Some(Taken { notes, ..taken.unwrap_or_else(failed) })
    }

    /// Records what an attempt left, while it still holds its locks. Returns why that was not possible, to be kept with the
    /// attempt: a rollback then only knows that it does not know.
    pub(crate) fn finish_snapshot(&self, task: usize, attempt: &AttemptId) -> Option<String> {
        if !self.settings.snapshots.has(attempt) {
            return None;
        }
        self.about_scope(task, attempt, |subject| {
            self.settings.snapshots.record_left(&self.settings.index, subject)
        })
    }

    /// Whether attempts of the task are rolled back when they fail.
    pub(crate) fn is_rolled_back(&self, task: usize) -> bool {
        let spec = &self.part(task).spec;
        let has_snapshots = self.settings.snapshots.is_kept() && !self.is_isolated(task);
        spec.rollback && !spec.writes.is_empty() && has_snapshots
    }

    /// The same, unless its locks were taken: others may have written there since.
    pub(super) fn may_roll_back(&mut self, task: usize, live: &Live) -> Result<bool> {
        // An attempt that could not be kept was not started either.
        let is_held = self.held.contains_key(&task) && live.ended.no_snapshot.is_none();
        Ok(is_held && self.is_rolled_back(task) && lost_to(self.cx, &self.tasks[task].id)?.is_none())
    }

    /// Rolls the last attempt back while its locks are held. That it begins is written first, with everything since the
    /// mark, so that the next engine finishes what a killed one began. `Err` if that could not be written.
    pub(crate) fn roll_back(
        &mut self,
        task: usize,
        mark: Mark,
        trigger: Trigger,
    ) -> Result<std::result::Result<Rolled, Committed>> {
        self.roll_back_between(task, mark, (trigger, None))
    }

    /// The same for an attempt whose engine died: what was changed in the time between the engines stays.
    pub(crate) fn roll_back_between(
        &mut self,
        task: usize,
        mark: Mark,
        (trigger, between): (Trigger, Option<Between>),
    ) -> Result<std::result::Result<Rolled, Committed>> {
        let attempts = ops::task::get::attempts(self.cx, &self.tasks[task].id)?;
        let last = &attempts.last().expect("BUG: only attempts are rolled back").begun;
        let (id, number) = (last.id.clone(), last.number);
        let unfinished = attempts.last().and_then(|last| last.rollback.clone()).filter(is_unfinished);
        let is_repeated = unfinished.is_some();
        let begun = unfinished.unwrap_or_else(|| begun(trigger, number, self.cx.now().at));
        let is_covered = |attempt: &&Attempt| attempt.begun.number >= begun.since;
        let covered = attempts.iter().rev().filter(is_covered).map(|attempt| attempt.begun.id.clone());
        let covered: Vec<AttemptId> = covered.collect();
        self.attempts[task] = attempts;
        self.note(self.rolled(task, &id, begun.clone(), Vec::new()));
        match self.try_commit(mark)? {
            Committed::All(_) => {}
            other => return Ok(Err(other)),
        }
        let beside = self.beside(task, begun.since)?;
        let root = Path::new(&self.run.asked.workspace);
        let job = Job::new(root, &covered, Direction::Undo).repeated(is_repeated);
        let job = job.beside(&beside).between(between);
        let files = match self.settings.snapshots.roll_back(&self.settings.index, &job) {
            Ok(files) => files,
            Err(fault) => {
                let told = format!("E_ROLLBACK_FAILED: {}", with_causes(&fault));
                return Ok(Ok(Rolled::not_done(told)));
            }
        };
        let rollback = begun.ended(&files);
        let (told, counts, left) = (rollback.told(), rollback.counts, rollback.left.clone());
        let is_left = |file: &FileResult| match file.status {
            FileStatus::Conflict => true,
            FileStatus::Failed => file.reason.as_deref() != Some(NOT_TAKEN),
            FileStatus::Planned | FileStatus::Done | FileStatus::Unchanged => false,
        };
        Ok(Ok(Rolled {
            told,
            is_whole: !counts.is_partial(),
            is_whole_but_limits: !files.iter().any(is_left),
            counts,
            left,
            entry: Some(self.rolled(task, &id, rollback, files)),
        }))
    }

    /// Whether a file is known to have been there before an attempt began.
    pub(crate) fn was_there(&self, last: &Attempt, path: &str) -> bool {
        let Ok(path) = Scope::parse(path, Some(&self.run.asked.workspace)) else { return false };
        let before = self.settings.snapshots.before(&last.begun.id);
        before.is_some_and(|before| matches!(before.at(path.as_str()), Known::File(_)))
    }

    /// What a rollback of one attempt would do.
    pub(crate) fn preview_of(&self, attempt: &AttemptId) -> std::result::Result<Vec<FileResult>, Fault> {
        let covered = [attempt.clone()];
        let job = Job::new(Path::new(&self.run.asked.workspace), &covered, Direction::Undo).previewed();
        self.settings.snapshots.roll_back(&self.settings.index, &job)
    }

    /// Tasks of this run that worked in the workspace since this attempt of a task began and declare no paths.
    fn beside(&mut self, task: usize, since: i64) -> Result<Vec<Beside>> {
        let now = self.cx.now().at;
        let first = self.attempts[task].iter().find(|attempt| attempt.begun.number >= since);
        let Some(began) = first.map(|first| first.started_at) else { return Ok(Vec::new()) };
        let is_other = |&other: &usize| {
            other != task && !self.is_isolated(other) && self.part(other).spec.writes.is_empty()
        };
        let others: Vec<usize> = (0..self.tasks.len()).filter(is_other).collect();
        let mut beside = Vec::new();
        for other in others {
            for attempt in ops::task::get::attempts(self.cx, &self.tasks[other].id)? {
                let until = attempt.ended_at.unwrap_or(now);
                if until >= began {
                    let name = self.part(other).spec.id.clone();
                    beside.push(Beside { name, since: attempt.started_at, until });
                }
            }
        }
        Ok(beside)
    }

    fn rolled(&self, task: usize, attempt: &AttemptId, rollback: Rollback, files: Vec<FileResult>) -> Entry {
        Entry::RollBack {
            task_id: self.tasks[task].id.clone(),
            attempt_id: attempt.clone(),
            rollback: Box::new(rollback),
            files,
            token: self.held.get(&task).copied(),
        }
    }

    fn about_scope<A>(&self, task: usize, attempt: &AttemptId, then: impl FnOnce(&Subject<'_>) -> A) -> A {
        let scopes = self.wants(task).map(|wants| wants.scopes).unwrap_or_default();
        then(&Subject {
            attempt,
            task: &self.tasks[task].id,
            run: &self.run.asked.id,
            name: &self.part(task).spec.id,
            root: Path::new(&self.run.asked.workspace),
            scopes: &scopes,
            at: self.cx.now().at,
        })
    }
}

/// Whether a rollback was begun and has not ended.
pub(crate) fn is_unfinished(rollback: &Rollback) -> bool {
    rollback.direction == Direction::Undo && rollback.stage == Stage::Started
}

fn begun(trigger: Trigger, number: i64, at: Timestamp) -> Rollback {
    Rollback {
        direction: Direction::Undo,
        stage: Stage::Started,
        trigger,
        by: "service.writ".to_owned(),
        since: number,
        at,
        counts: Counts::default(),
        left: Vec::new(),
    }
}
