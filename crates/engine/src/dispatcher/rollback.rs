//! Keeps what a task may write before an attempt, and takes back what the attempt changed where that was asked for.

use std::path::Path;

use contract::domain::attempt::{Attempt, AttemptId, Taken};
use contract::domain::rollback::{
    Direction, FileResult, FileStatus, Rollback, RollbackCounts, Stage, Trigger,
};
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::lock::list::lost_to;
use ops::run::journal::JournalEntry;

use super::engine_run::{Committed, EngineRun};
use super::live::Live;
use super::snapshot_strategies::apply_snapshot_strategies;
use super::task_work::TaskWork;
use super::waiting::wants;
use crate::launcher::with_causes;
use crate::pipeline::Mark;
use crate::snapshots::{Beside, Between, NOT_TAKEN, PriorState, RestoreJob, SnapshotError, SnapshotSubject};

/// What a rollback by an engine brought about.
pub(crate) struct Rolled {
    pub(crate) told: String,
    /// `None` if it could not be carried out; the same command of a person may.
    pub(crate) entry: Option<JournalEntry>,
    /// Whether everything is as it was before the attempt.
    pub(crate) is_whole: bool,
    /// Whether everything is, except what limits kept out of the snapshot.
    pub(crate) is_whole_but_limits: bool,
    pub(crate) counts: RollbackCounts,
    /// Some of the paths that were left, each with the reason.
    pub(crate) left: Vec<FileResult>,
}

/// How a rollback ended.
pub(crate) enum RollbackEnd {
    Done(Box<Rolled>),
    /// Its beginning could not be written, so nothing was done.
    Unwritten(Committed),
}

impl RollbackEnd {
    pub(crate) fn done(self) -> Option<Rolled> {
        match self {
            RollbackEnd::Done(rolled) => Some(*rolled),
            RollbackEnd::Unwritten(_) => None,
        }
    }
}

impl Rolled {
    fn not_done(told: String) -> Self {
        Self {
            told,
            entry: None,
            is_whole: false,
            is_whole_but_limits: false,
            counts: RollbackCounts::default(),
            left: Vec::new(),
        }
    }
}

/// Keeps the scope of an attempt that is about to begin. `None` if it has none.
pub(super) fn take_snapshot(engine: &EngineRun<'_>, work: &TaskWork, attempt: &AttemptId) -> Option<Taken> {
    let spec = work.spec();
    let needless = if work.is_isolated() {
        Some("rollback has no effect: the task works in a clone, and only work that is done is merged")
    } else {
        let is_nowhere = spec.writes.is_empty();
        is_nowhere.then_some("rollback has no effect: the task names no paths that it may write")
    };
    if let Some(note) = needless {
        return spec.rollback.then(|| Taken { notes: vec![note.to_owned()], ..Taken::default() });
    }
    if !engine.settings.archive.snapshots.is_kept() {
        return None;
    }
    // First, so that a copy in the scope is part of what was there before.
    let notes = apply_snapshot_strategies(engine, work, attempt);
    let taken = about_scope(engine, work, attempt, |subject| {
        engine.settings.archive.snapshots.take(&engine.settings.index, subject)
    });
    let failed = |fault| Taken { failed: Some(with_causes(&fault)), ..Taken::default() };
    Some(Taken { notes, ..taken.unwrap_or_else(failed) })
}

/// Records what an attempt left, while it still holds its locks. Returns why that was not possible, to be kept with the
/// attempt: a rollback then only knows that it does not know.
pub(crate) fn finish_snapshot(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &AttemptId,
) -> Option<String> {
    if !engine.settings.archive.snapshots.has(attempt) {
        return None;
    }
    about_scope(engine, work, attempt, |subject| {
        engine.settings.archive.snapshots.record_left(&engine.settings.index, subject)
    })
}

/// Whether attempts of the task are rolled back when they fail.
pub(crate) fn is_rolled_back(engine: &EngineRun<'_>, work: &TaskWork) -> bool {
    let spec = work.spec();
    let has_snapshots = engine.settings.archive.snapshots.is_kept() && !work.is_isolated();
    spec.rollback && !spec.writes.is_empty() && has_snapshots
}

/// The same, unless its locks were taken: others may have written there since.
pub(super) fn is_possible(engine: &mut EngineRun<'_>, work: &TaskWork, live: &Live) -> Result<bool> {
    // An attempt that could not be kept was not started either.
    let is_held = work.grant.is_some() && live.phase.returned().ended.no_snapshot.is_none();
    Ok(is_held && is_rolled_back(engine, work) && lost_to(engine.cx, &work.task.id)?.is_none())
}

/// Rolls the last attempt back while its locks are held. That it begins is written first, with everything since the
/// mark, so that the next engine finishes what a killed one began. What was changed `between`
/// the engine that died and this one stays.
pub(crate) fn roll_back(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    mark: Mark,
    trigger: Trigger,
    between: Option<Between>,
) -> Result<RollbackEnd> {
    let attempts = ops::task::get::attempts(engine.cx, &work.task.id)?;
    let last = &attempts.last().expect("BUG: only attempts are rolled back").begun;
    let (id, number) = (last.id.clone(), last.number);
    let unfinished = attempts.last().and_then(|last| last.rollback.clone()).filter(is_unfinished);
    let is_repeated = unfinished.is_some();
    let begun = unfinished.unwrap_or_else(|| begun(trigger, number, engine.cx.now().at));
    let is_covered = |attempt: &&Attempt| attempt.begun.number >= begun.since;
    let covered = attempts.iter().rev().filter(is_covered).map(|attempt| attempt.begun.id.clone());
    let covered: Vec<AttemptId> = covered.collect();
    work.attempts = attempts;
    engine.note(rolled(work, &id, begun.clone(), Vec::new()));
    match engine.try_commit(mark)? {
        Committed::All(_) => {}
        unwritten => return Ok(RollbackEnd::Unwritten(unwritten)),
    }
    let beside = beside(engine, work, begun.since)?;
    let root = Path::new(&engine.run.asked.workspace);
    let job = RestoreJob::new(root, &covered, Direction::Undo).repeated(is_repeated);
    let job = job.beside(&beside).between(between);
    let files = match engine.settings.archive.snapshots.roll_back(&engine.settings.index, &job) {
        Ok(files) => files,
        Err(fault) => {
            let told = format!("E_ROLLBACK_FAILED: {}", with_causes(&fault));
            return Ok(RollbackEnd::Done(Box::new(Rolled::not_done(told))));
        }
    };
    let rollback = begun.ended(&files);
    let (told, counts, left) = (rollback.told(), rollback.counts, rollback.left.clone());
    let is_left = |file: &FileResult| match file.status {
        FileStatus::Conflict => true,
        FileStatus::Failed => file.reason.as_deref() != Some(NOT_TAKEN),
        FileStatus::Planned | FileStatus::Done | FileStatus::Unchanged => false,
    };
    Ok(RollbackEnd::Done(Box::new(Rolled {
        told,
        is_whole: !counts.is_partial(),
        is_whole_but_limits: !files.iter().any(is_left),
        counts,
        left,
        entry: Some(rolled(work, &id, rollback, files)),
    })))
}

/// Whether a file is known to have been there before an attempt began.
pub(crate) fn was_there(engine: &EngineRun<'_>, last: &Attempt, path: &str) -> bool {
    let Ok(path) = Scope::parse(path, Some(&engine.run.asked.workspace)) else { return false };
    let before = engine.settings.archive.snapshots.before(&last.begun.id);
    before.is_some_and(|before| matches!(before.at(path.as_str()), PriorState::File(_)))
}

/// What a rollback of one attempt would do.
pub(crate) fn preview_of(
    engine: &EngineRun<'_>,
    attempt: &AttemptId,
) -> std::result::Result<Vec<FileResult>, SnapshotError> {
    let covered = [attempt.clone()];
    let job = RestoreJob::new(Path::new(&engine.run.asked.workspace), &covered, Direction::Undo).previewed();
    engine.settings.archive.snapshots.roll_back(&engine.settings.index, &job)
}

/// Tasks of this run that worked in the workspace since this attempt of a task began and declare no paths.
fn beside(engine: &mut EngineRun<'_>, work: &TaskWork, since: i64) -> Result<Vec<Beside>> {
    let now = engine.cx.now().at;
    let first = work.attempts.iter().find(|attempt| attempt.begun.number >= since);
    let Some(began) = first.map(|first| first.started_at) else { return Ok(Vec::new()) };
    let mut beside = Vec::new();
    for (other, attempts) in ops::run::show::by_id(engine.cx, &engine.run.asked.id)?.tasks {
        let Some(spec) = other.part.map(|part| part.spec) else { continue };
        if other.id == work.task.id || spec.worktree.is_some() || !spec.writes.is_empty() {
            continue;
        }
        let spans = attempts.iter().map(|it| (it.started_at, it.ended_at.unwrap_or(now)));
        let spans = spans.filter(|(_, until)| *until >= began);
        beside.extend(spans.map(|(since, until)| Beside { name: spec.id.clone(), since, until }));
    }
    Ok(beside)
}

fn rolled(work: &TaskWork, attempt: &AttemptId, rollback: Rollback, files: Vec<FileResult>) -> JournalEntry {
    JournalEntry::RollBack {
        task_id: work.task.id.clone(),
        attempt_id: attempt.clone(),
        rollback: Box::new(rollback),
        files,
        token: work.grant,
    }
}

fn about_scope<A>(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &AttemptId,
    then: impl FnOnce(&SnapshotSubject<'_>) -> A,
) -> A {
    let scopes = wants(engine, work).map(|wants| wants.scopes).unwrap_or_default();
    then(&SnapshotSubject {
        attempt,
        task: &work.task.id,
        run: &engine.run.asked.id,
        name: work.name(),
        root: Path::new(&engine.run.asked.workspace),
        scopes: &scopes,
        at: engine.cx.now().at,
    })
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
        counts: RollbackCounts::default(),
        left: Vec::new(),
    }
}
