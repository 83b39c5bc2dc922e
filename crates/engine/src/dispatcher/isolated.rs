//! Tasks that work in clones of their own: their way into a clone, and the way of their work into the workspace.

pub(crate) mod landing;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use contract::continuity::state::TaskState;
use contract::domain::attempt::AttemptId;
use contract::domain::confinement::SandboxMode;
use contract::domain::limits;
use contract::domain::outside::{Interval, Outside, judge};
use contract::domain::reason::Reason;
use contract::domain::request::RequestId;
use contract::domain::status::Status;
use contract::domain::worktree::MergeConflict;
use ops::run::journal::{JournalEntry, JournalNote};
use ops::{Result, Session};
use serde_json::{Value, json};

use super::Dispatcher;
use super::confined::wanted;
use super::engine_run::EngineRun;
use super::live::Live;
use super::task_work::TaskWork;
use super::waiting::scope;
use crate::launcher::with_causes;
use crate::observer::TaskProgress;
use crate::worktree::{Author, CloneOrder, MergeCandidate, Trial, Worktree, WorktreeError};

/// The clone of a task that is worked on.
pub(super) struct Isolated {
    pub(super) clone: Worktree,
    tree: PathBuf,
    /// What the plan and the clone add to the environment of its processes.
    env: BTreeMap<String, String>,
    /// The task's work on top of what the workspace had, once it has returned.
    candidate: Option<MergeCandidate>,
    unmerged: Option<Unmerged>,
    /// The commit that brought it into the workspace, in this attempt.
    landed: Option<String>,
    /// How often its checks ran again because the workspace moved on.
    rounds: u32,
    /// Since when its merge waits for the locks of others.
    waits_since_ms: Option<i64>,
    /// When its setup commands must have ended, once one was started.
    pub(super) setup_until_ms: Option<i64>,
}

/// Why the work of a task is not in the workspace.
enum Unmerged {
    Conflict(Box<MergeConflict>),
    Fault(String),
}

impl Isolated {
    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    pub(super) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }
}

/// Whether the task has a clone, with whatever it left there.
pub(crate) fn has_clone(engine: &EngineRun<'_>, work: &TaskWork) -> bool {
    if !work.is_isolated() {
        return false;
    }
    // Clones that cannot be listed cannot be entered either, and the attempt to enter reports it.
    let clones = engine.settings.archive.worktrees.list().unwrap_or_default();
    clones.iter().any(|clone| clone.record.task_id == work.task.id)
}

/// What the clone alone adds.
pub(super) fn clone_env(work: &TaskWork) -> BTreeMap<String, String> {
    work.clone.as_ref().map(|isolated| added(&isolated.clone)).unwrap_or_default()
}

/// Whether a task can work in its clone.
pub(super) enum CloneEntry {
    /// The clone stays until the file is dropped. `None` for a task that works in the workspace.
    Entered(Option<File>),
    /// Why the task cannot begin.
    Refused(Reason),
}

/// Opens the clone of a task before its attempt is written down. Work of an earlier attempt is merged with what the
/// workspace has by now: no tokens are spent on work that cannot be merged.
pub(super) fn enter_clone(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    attempt: &AttemptId,
) -> Result<CloneEntry> {
    if !work.is_isolated() {
        return Ok(CloneEntry::Entered(None));
    }
    let hold = match open_clone(engine, work, attempt) {
        Ok(hold) => hold,
        Err(fault) => return Ok(CloneEntry::Refused(with_causes(&fault).into())),
    };
    if !work.attempts.is_empty() {
        bring_together(engine, work, attempt);
        if let Some(reason) = landing::unmerged(work) {
            // The reason names the reference.
            work.clone().clone.keep_result(&engine.runner(attempt)).ok();
            create_conflict_task(engine, work)?;
            return Ok(CloneEntry::Refused(reason));
        }
        if let Err(fault) = work.clone().clone.note_before(&engine.runner(attempt)) {
            return Ok(CloneEntry::Refused(with_causes(&fault).into()));
        }
    }
    let isolated = &work.clone();
    let record = &isolated.clone.record;
    let payload = json!({"directory": isolated.tree, "base": record.base, "ports": record.ports});
    note_worktree(engine, work, "writ.worktree.opened", "Works in a clone", payload);
    Ok(CloneEntry::Entered(Some(hold)))
}

/// Opens the clone of an attempt that was interrupted or could not be merged. False if it cannot be
/// opened: the task is then left to a person.
pub(crate) fn return_to_clone(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    attempt: &AttemptId,
) -> Result<bool> {
    let Err(fault) = open_clone(engine, work, attempt) else { return Ok(true) };
    if work.task.status == Status::InProgress {
        let mark = engine.pipeline.mark();
        let reason = format!("unknown: its clone cannot be opened: {}", with_causes(&fault));
        engine.note(work.move_to(Status::Blocked, Some(reason.into())));
        engine.commit_unless_moved(mark)?;
        work.refresh(engine)?;
    }
    Ok(false)
}

/// Gives the clone of an interrupted attempt the files back that it had before. Returns how many differed.
pub(crate) fn restore_clone(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    attempt: &AttemptId,
) -> std::result::Result<usize, String> {
    let runner = engine.runner(attempt);
    let isolated = work.clone_mut();
    let restored = isolated.clone.restore(&runner).map_err(|fault| with_causes(&fault))?;
    // The merged work is gone.
    isolated.candidate = None;
    Ok(restored)
}

/// Whether an attempt was done when its engine died, and its work only had to be merged.
pub(crate) fn was_judged(work: &TaskWork, attempt: &AttemptId) -> bool {
    work.clone.as_ref().is_some_and(|isolated| isolated.clone.was_judged(attempt))
}

/// Takes back what an interrupted merge changed in the workspace, also if its task was canceled.
pub(crate) fn settle_merges(engine: &EngineRun<'_>, work: &TaskWork, attempt: &AttemptId) {
    if work.is_isolated() {
        let workspace = Path::new(&engine.run.asked.workspace);
        // Opening a clone reports what hinders it.
        engine.settings.archive.worktrees.settle(&engine.runner(attempt), workspace).ok();
    }
}

/// What the merge of a task changes outside its scope. `None` if it has none, or cannot be merged.
pub(crate) fn outside_of_clone(engine: &EngineRun<'_>, work: &TaskWork) -> Option<Outside> {
    let candidate = work.clone.as_ref()?.candidate.as_ref()?;
    let wants = scope(engine, work).ok().filter(|wants| !wants.scopes.is_empty())?;
    let interval = Interval {
        scope: &wants.scopes,
        forbidden: &[],
        scratch: &work.spec().scratch,
        others: &[],
        fold: wants.fold,
    };
    let mut outside = judge(&interval, candidate.paths.iter().map(String::as_str));
    if wanted(engine, work).mode == SandboxMode::Enforce || work.spec().files.writes_only {
        // Only the task works in its clone, so what is there outside the scope is its own.
        outside.forbid_undeclared(|_| true);
    }
    Some(outside)
}

fn open_clone(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    attempt: &AttemptId,
) -> std::result::Result<File, WorktreeError> {
    let spec = work.spec();
    let (clone, hold) = engine.settings.archive.worktrees.open(
        &engine.runner(attempt),
        &CloneOrder {
            run: &engine.run.asked.id,
            task: &work.task.id,
            name: &spec.id,
            workspace: Path::new(&engine.run.asked.workspace),
            ports: spec.worktree.as_ref().map_or(0, |worktree| worktree.ports),
            at: engine.cx.now().at,
        },
    )?;
    let mut env = spec.env.clone();
    env.extend(added(&clone));
    let isolated = Isolated {
        tree: clone.tree(),
        clone,
        env,
        candidate: None,
        unmerged: None,
        landed: None,
        rounds: 0,
        waits_since_ms: None,
        setup_until_ms: None,
    };
    work.clone = Some(isolated);
    Ok(hold)
}

impl Dispatcher<'_> {
    /// Reports the results of this run that wait to be merged and cannot be, before another task begins without them.
    pub(super) fn report_unmerged(&mut self, task: usize, attempt: &AttemptId) {
        if !self.tasks[task].is_isolated() {
            return;
        }
        let waits = |work: &&TaskWork| work.index != task && work.task.status == Status::Blocked;
        let runner = self.engine.runner(attempt);
        for other in self.tasks.iter().filter(waits) {
            let Some(isolated) = &other.clone else { continue };
            // What cannot be asked now is reported when it is to be merged.
            let Ok(Some(conflict)) = isolated.clone.conflict_now(&runner) else { continue };
            let told = format!("begins without `{}`: {}", other.name(), conflict.told());
            let work = &self.tasks[task];
            self.engine.observer.report(TaskProgress::BeginsWithout { task: work.name(), told: &told });
            let payload = json!({"without": other.name(), "conflict": conflict});
            note_worktree(&mut self.engine, work, "writ.worktree.trial", &told, payload);
        }
    }
}

/// Commits what the task left in its clone and merges it there with what the workspace has.
pub(crate) fn bring_together(engine: &EngineRun<'_>, work: &mut TaskWork, attempt: &AttemptId) {
    let message = commit_message(engine, work);
    let author = Author { name: work.spec().executor.as_str(), message: &message };
    let brought = work.clone().clone.bring_together(&engine.runner(attempt), &author);
    take_trial(work, brought);
}

fn bring_again(engine: &EngineRun<'_>, work: &mut TaskWork, attempt: &AttemptId) {
    let message = commit_message(engine, work);
    let author = Author { name: work.spec().executor.as_str(), message: &message };
    let brought = work.clone().clone.bring_again(&engine.runner(attempt), &author);
    take_trial(work, brought);
}

fn take_trial(work: &mut TaskWork, brought: std::result::Result<Trial, WorktreeError>) {
    let isolated = work.clone_mut();
    (isolated.candidate, isolated.unmerged) = match brought {
        Ok(Trial::Fits(candidate)) => (Some(candidate), None),
        Ok(Trial::Conflict(conflict)) => (None, Some(Unmerged::Conflict(conflict))),
        Err(fault) => (None, Some(Unmerged::Fault(with_causes(&fault)))),
    };
}

fn commit_message(engine: &EngineRun<'_>, work: &TaskWork) -> String {
    let title = work.task.title.replace(char::is_control, " ");
    format!("{title}\n\nWrit-Run: {}\nWrit-Task: {}\n", engine.run.asked.id, work.name())
}

/// Whether the checks of a task have to run again, with what was merged into the workspace since they began.
pub(super) fn has_moved_on(engine: &EngineRun<'_>, work: &mut TaskWork, live: &Live) -> bool {
    let Some(isolated) = work.clone.as_ref() else { return false };
    let seen = &live.phase.returned().seen;
    let is_checked = !seen.is_empty() && seen.iter().all(|check| check.passed);
    let (Some(candidate), true) = (&isolated.candidate, is_checked && live.stopped.is_none()) else {
        return false;
    };
    let attempt = live.start.attempt.id.clone();
    let runner = engine.runner(&attempt);
    // A failed look is reported when the work is to be merged.
    let is_same = isolated.clone.is_still_on(&runner, candidate).unwrap_or(true);
    if is_same || isolated.rounds >= limits::MERGE_ROUNDS_MAX {
        return false;
    }
    work.clone_mut().rounds += 1;
    bring_again(engine, work, &attempt);
    work.clone().candidate.is_some()
}

/// A conflict becomes a task of its own, which names both sides. The same conflict makes it once.
pub(crate) fn create_conflict_task(engine: &mut EngineRun<'_>, work: &mut TaskWork) -> Result<()> {
    let unmerged = work.clone.as_ref().and_then(|isolated| isolated.unmerged.as_ref());
    let Some(Unmerged::Conflict(conflict)) = unmerged else { return Ok(()) };
    let name = work.name();
    let request = ops::task::create::Request {
        title: conflict.title(name),
        description: conflict.description(&engine.run.asked.id),
        project_id: Some(engine.run.asked.workspace.clone()),
        priority: work.task.priority,
        ..ops::task::create::Request::default()
    };
    let text = json!([work.task.id, request.title, request.description]).to_string();
    let id = format!("merge-conflict-{}", contract::digest::of_bytes(text.as_bytes()));
    let request_id = RequestId::parse(&id).expect("BUG: a digest is a short word");
    let key = Session::new(engine.caller.clone(), request_id);
    let created = engine.patiently(|engine| ops::task::create::create(engine.cx, &key, &request))?;
    // Without a note the task is left to a person.
    work.clone_mut().clone.note_conflict(&created.answer.task.id).ok();
    Ok(())
}

/// Closes the conflict tasks of merged work that were not begun.
pub(super) fn end_conflict_tasks(engine: &mut EngineRun<'_>, work: &TaskWork) {
    let ids = work.clone().clone.conflict_tasks.clone();
    for id in ids {
        let is_open = ops::task::get::by_id(engine.cx, &id).is_ok_and(|found| found.status == Status::Todo);
        if !is_open {
            continue;
        }
        let status = TaskState::Completed;
        let request = ops::task::set_status::Request { id: id.clone(), status, blocked_reason: None };
        let request_id = RequestId::parse(&format!("merged-{id}")).expect("BUG: an id is a short word");
        let key = Session::new(engine.caller.clone(), request_id);
        // An agent may have claimed it by now.
        engine.patiently(|engine| ops::task::set_status::set_status(engine.cx, &key, &request)).ok();
    }
}

fn note_worktree(engine: &mut EngineRun<'_>, work: &TaskWork, intent: &str, message: &str, payload: Value) {
    let note = worktree_note(engine, work, intent, message, payload);
    engine.note(JournalEntry::Envelope(note));
}

fn worktree_note(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    intent: &str,
    message: &str,
    mut payload: Value,
) -> JournalNote {
    payload["reference"] = json!(contract::domain::worktree::reference(&engine.run.asked.id, work.name()));
    JournalNote::event(intent, message, payload, Some(&work.task.id))
}

fn added(clone: &Worktree) -> BTreeMap<String, String> {
    let mut env = BTreeMap::from([
        ("WRIT_WORKTREE".to_owned(), clone.tree().to_string_lossy().into_owned()),
        ("WRIT_WORKSPACE".to_owned(), clone.record.workspace.clone()),
    ]);
    if let Some(ports) = clone.record.ports {
        env.insert("WRIT_PORT_FIRST".to_owned(), ports.first.to_string());
        env.insert("WRIT_PORT_LAST".to_owned(), ports.last.to_string());
    }
    env
}
