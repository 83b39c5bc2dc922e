//! Tasks that work in clones of their own: their way into a clone, and the way of their work into the workspace.

mod landing;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use contract::aee::Type;
use contract::continuity::state::TaskState;
use contract::domain::attempt::AttemptId;
use contract::domain::confinement::SandboxMode;
use contract::domain::limits;
use contract::domain::outside::{Interval, Outside, judge};
use contract::domain::request::RequestId;
use contract::domain::status::Status;
use contract::domain::worktree::MergeConflict;
use ops::Result;
use ops::Session;
use ops::run::journal::{Entry, Note};
use serde_json::{Value, json};

use super::Dispatcher;
use crate::git::Runner;
use crate::launcher::with_causes;
use crate::observer::Progress;
use crate::pipeline::Mark;
use crate::worktree::{Author, Candidate, Fault, Order, Trial, Worktree};

/// The clone of a task that is worked on.
pub(super) struct Isolated {
    pub(super) clone: Worktree,
    tree: PathBuf,
    /// What the plan and the clone add to the environment of its processes.
    env: BTreeMap<String, String>,
    /// The task's work on top of what the workspace had, once it has returned.
    candidate: Option<Candidate>,
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

impl<'d> Dispatcher<'d> {
    pub(crate) fn is_isolated(&self, task: usize) -> bool {
        self.part(task).spec.worktree.is_some()
    }

    /// Whether the task has a clone, with whatever it left there.
    pub(crate) fn has_clone(&self, task: usize) -> bool {
        if !self.is_isolated(task) {
            return false;
        }
        // Clones that cannot be listed cannot be entered either, and that is told when it is tried.
        let clones = self.settings.worktrees.list().unwrap_or_default();
        clones.iter().any(|clone| clone.record.task_id == self.tasks[task].id)
    }

    /// Where the processes of a task work.
    pub(crate) fn directory(&self, task: usize) -> &Path {
        let workspace = || Path::new(&self.run.asked.workspace);
        self.clones.get(&task).map_or_else(workspace, |isolated| &isolated.tree)
    }

    /// What a task's author adds to the environment of its processes, and what its clone adds.
    pub(crate) fn task_env(&self, task: usize) -> &BTreeMap<String, String> {
        self.clones.get(&task).map_or(&self.part(task).spec.env, |isolated| &isolated.env)
    }

    /// What the clone alone adds.
    pub(super) fn clone_env(&self, task: usize) -> BTreeMap<String, String> {
        self.clones.get(&task).map(|isolated| added(&isolated.clone)).unwrap_or_default()
    }

    pub(super) fn runner(&self, mark: &AttemptId) -> Runner<'d> {
        Runner {
            launcher: &*self.settings.launcher,
            environment: &self.settings.environment,
            mark: mark.clone(),
        }
    }

    /// Opens the clone of a task before its attempt is written down. Work of an earlier attempt is merged with what the
    /// workspace has by now. `Err` is why the task cannot begin: no tokens are spent on work that cannot be merged. Nobody
    /// removes the clone until the file is dropped.
    pub(super) fn enter_clone(
        &mut self,
        task: usize,
        attempt: &AttemptId,
    ) -> Result<std::result::Result<Option<File>, String>> {
        if !self.is_isolated(task) {
            return Ok(Ok(None));
        }
        self.tell_unmerged(task, attempt);
        let hold = match self.open_clone(task, attempt) {
            Ok(hold) => hold,
            Err(fault) => return Ok(Err(with_causes(&fault))),
        };
        if !self.attempts[task].is_empty() {
            self.bring_together(task, attempt);
            if let Some(reason) = self.unmerged(task) {
                // The reason names the reference.
                self.clones[&task].clone.keep_result(&self.runner(attempt)).ok();
                self.create_conflict_task(task)?;
                return Ok(Err(reason));
            }
            if let Err(fault) = self.clones[&task].clone.note_before(&self.runner(attempt)) {
                return Ok(Err(with_causes(&fault)));
            }
        }
        let isolated = &self.clones[&task];
        let record = &isolated.clone.record;
        let payload = json!({"directory": isolated.tree, "base": record.base, "ports": record.ports});
        self.note_worktree(task, "writ.worktree.opened", "Works in a clone", payload);
        Ok(Ok(Some(hold)))
    }

    /// Opens the clone of an attempt whose engine is gone, or whose work could not be merged. False if it cannot be
    /// opened: the task is then left to a person.
    pub(crate) fn return_to_clone(&mut self, task: usize, attempt: &AttemptId) -> Result<bool> {
        let Err(fault) = self.open_clone(task, attempt) else { return Ok(true) };
        if self.tasks[task].status == Status::InProgress {
            let mark = self.pipeline.mark();
            let task_id = self.tasks[task].id.clone();
            let reason = Some(format!("unknown: its clone cannot be opened: {}", with_causes(&fault)));
            self.note(Entry::MoveTask { task_id, to: Status::Blocked, reason, verified: false });
            self.commit_unless_moved(mark)?;
            self.refresh(task)?;
        }
        Ok(false)
    }

    /// Gives the clone of an interrupted attempt the files back that it had before. Returns how many differed.
    pub(crate) fn restore_clone(
        &mut self,
        task: usize,
        attempt: &AttemptId,
    ) -> std::result::Result<usize, String> {
        let runner = self.runner(attempt);
        let isolated = self.isolated_mut(task);
        let restored = isolated.clone.restore(&runner).map_err(|fault| with_causes(&fault))?;
        // What was brought together is not there any more.
        isolated.candidate = None;
        Ok(restored)
    }

    /// Whether an attempt was done when its engine died, and its work only had to be merged.
    pub(crate) fn was_judged(&self, task: usize, attempt: &AttemptId) -> bool {
        self.clones.get(&task).is_some_and(|isolated| isolated.clone.was_judged(attempt))
    }

    /// Takes back what an interrupted merge changed in the workspace, also if its task is not wanted any more.
    pub(crate) fn settle_merges(&self, task: usize, attempt: &AttemptId) {
        if self.is_isolated(task) {
            let workspace = Path::new(&self.run.asked.workspace);
            // What hinders it is told when a clone is opened.
            self.settings.worktrees.settle(&self.runner(attempt), workspace).ok();
        }
    }

    /// What the merge of a task changes outside its scope. `None` if it has none, or cannot be merged.
    pub(crate) fn outside_of_clone(&self, task: usize) -> Option<Outside> {
        let candidate = self.clones.get(&task)?.candidate.as_ref()?;
        let wants = self.scope(task).ok().filter(|wants| !wants.scopes.is_empty())?;
        let interval = Interval {
            scope: &wants.scopes,
            forbidden: &[],
            scratch: &self.part(task).spec.scratch,
            others: &[],
            fold: wants.fold,
        };
        let mut outside = judge(&interval, candidate.paths.iter().map(String::as_str));
        if self.wanted(task).mode == SandboxMode::Enforce || self.part(task).spec.files.writes_only {
            // Nobody else works in a clone, so what is there outside the scope is the task's.
            outside.forbid_undeclared(|_| true);
        }
        Some(outside)
    }

    fn open_clone(&mut self, task: usize, attempt: &AttemptId) -> std::result::Result<File, Fault> {
        let spec = &self.part(task).spec;
        let (clone, hold) = self.settings.worktrees.open(
            &self.runner(attempt),
            &Order {
                run: &self.run.asked.id,
                task: &self.tasks[task].id,
                name: &spec.id,
                workspace: Path::new(&self.run.asked.workspace),
                ports: spec.worktree.as_ref().map_or(0, |worktree| worktree.ports),
                at: self.cx.now().at,
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
        self.clones.insert(task, isolated);
        Ok(hold)
    }

    /// Says which results of this run wait to be merged and cannot be, before another task begins without them.
    fn tell_unmerged(&mut self, task: usize, attempt: &AttemptId) {
        let waits = |&other: &usize| {
            other != task && self.is_isolated(other) && self.tasks[other].status == Status::Blocked
        };
        let others: Vec<usize> =
            (0..self.tasks.len()).filter(waits).filter(|other| self.clones.contains_key(other)).collect();
        let runner = self.runner(attempt);
        for other in others {
            // What cannot be asked now is told when it is to be merged.
            let Ok(Some(conflict)) = self.clones[&other].clone.conflict_now(&runner) else { continue };
            let told = format!("begins without `{}`: {}", self.part(other).spec.id, conflict.told());
            self.observer.report(Progress::BeginsWithout { task: &self.board.slot(task).name, told: &told });
            let payload = json!({"without": self.part(other).spec.id, "conflict": conflict});
            self.note_worktree(task, "writ.worktree.trial", &told, payload);
        }
    }

    /// Commits what the task left in its clone and merges it there with what the workspace has.
    pub(crate) fn bring_together(&mut self, task: usize, attempt: &AttemptId) {
        let message = self.commit_message(task);
        let author = Author { name: self.part(task).spec.executor.as_str(), message: &message };
        let brought = self.clones[&task].clone.bring_together(&self.runner(attempt), &author);
        self.take_trial(task, brought);
    }

    fn bring_again(&mut self, task: usize, attempt: &AttemptId) {
        let message = self.commit_message(task);
        let author = Author { name: self.part(task).spec.executor.as_str(), message: &message };
        let brought = self.clones[&task].clone.bring_again(&self.runner(attempt), &author);
        self.take_trial(task, brought);
    }

    fn take_trial(&mut self, task: usize, brought: std::result::Result<Trial, Fault>) {
        let isolated = self.isolated_mut(task);
        (isolated.candidate, isolated.unmerged) = match brought {
            Ok(Trial::Fits(candidate)) => (Some(candidate), None),
            Ok(Trial::Conflict(conflict)) => (None, Some(Unmerged::Conflict(conflict))),
            Err(fault) => (None, Some(Unmerged::Fault(with_causes(&fault)))),
        };
    }

    fn commit_message(&self, task: usize) -> String {
        let title = self.tasks[task].title.replace(char::is_control, " ");
        format!("{title}\n\nWrit-Run: {}\nWrit-Task: {}\n", self.run.asked.id, self.part(task).spec.id)
    }

    /// Whether the checks of a task have to run again, with what was merged into the workspace since they began.
    pub(super) fn has_moved_on(&mut self, task: usize) -> bool {
        let Some(isolated) = self.clones.get(&task) else { return false };
        let live = &self.live[&task];
        let is_checked = !live.seen.is_empty() && live.seen.iter().all(|check| check.passed);
        let (Some(candidate), true) = (&isolated.candidate, is_checked && live.stopped.is_none()) else {
            return false;
        };
        let attempt = live.attempt.id.clone();
        let runner = self.runner(&attempt);
        // What cannot be asked now is told when it is to be merged.
        let is_same = isolated.clone.is_still_on(&runner, candidate).unwrap_or(true);
        if is_same || isolated.rounds >= limits::MERGE_ROUNDS_MAX {
            return false;
        }
        self.isolated_mut(task).rounds += 1;
        self.bring_again(task, &attempt);
        self.clones[&task].candidate.is_some()
    }

    /// A conflict becomes a task of its own, which names both sides. The same conflict makes it once.
    pub(crate) fn create_conflict_task(&mut self, task: usize) -> Result<()> {
        let unmerged = self.clones.get(&task).and_then(|isolated| isolated.unmerged.as_ref());
        let Some(Unmerged::Conflict(conflict)) = unmerged else { return Ok(()) };
        let name = &self.part(task).spec.id;
        let request = ops::task::create::Request {
            title: conflict.title(name),
            description: conflict.description(&self.run.asked.id),
            project_id: Some(self.run.asked.workspace.clone()),
            priority: self.tasks[task].priority,
            ..ops::task::create::Request::default()
        };
        let text = json!([self.tasks[task].id, request.title, request.description]).to_string();
        let id = format!("merge-conflict-{}", contract::digest::of_bytes(text.as_bytes()));
        let request_id = RequestId::parse(&id).expect("BUG: a digest is a short word");
        let key = Session::new(self.caller.clone(), request_id);
        let created = self.patiently(|engine| ops::task::create::create(engine.cx, &key, &request))?;
        // Without a note the task is left to a person.
        self.isolated_mut(task).clone.note_conflict(&created.answer.task.id).ok();
        Ok(())
    }

    /// The work is merged: tasks about its conflicts that nobody began have nothing left to do.
    pub(super) fn end_conflict_tasks(&mut self, task: usize) {
        let ids = self.clones[&task].clone.conflict_tasks.clone();
        for id in ids {
            let is_open = ops::task::get::by_id(self.cx, &id).is_ok_and(|found| found.status == Status::Todo);
            if !is_open {
                continue;
            }
            let status = TaskState::Completed;
            let request = ops::task::set_status::Request { id: id.clone(), status, blocked_reason: None };
            let request_id = RequestId::parse(&format!("merged-{id}")).expect("BUG: an id is a short word");
            let key = Session::new(self.caller.clone(), request_id);
            // Somebody else may have it by now.
            self.patiently(|engine| ops::task::set_status::set_status(engine.cx, &key, &request)).ok();
        }
    }

    fn note_worktree(&mut self, task: usize, intent: &str, message: &str, payload: Value) {
        let note = self.worktree_note(task, intent, message, payload);
        self.note(Entry::Envelope(note));
    }

    fn worktree_note(&self, task: usize, intent: &str, message: &str, mut payload: Value) -> Note {
        payload["reference"] =
            json!(contract::domain::worktree::reference(&self.run.asked.id, &self.part(task).spec.id));
        Note {
            kind: Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: intent.to_owned(),
            message: message.to_owned(),
            payload,
            task_id: Some(self.tasks[task].id.clone()),
        }
    }

    /// Leaves a task that cannot begin to a person.
    pub(super) fn leave_unstarted(&mut self, task: usize, reason: String, mark: Mark) -> Result<()> {
        self.pipeline.forget_answers(Some(task));
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::MoveTask { task_id, to: Status::Blocked, reason: Some(reason), verified: false });
        let is_written = self.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if is_written {
            self.tell_end(task, std::time::Duration::ZERO);
        }
        Ok(())
    }

    pub(super) fn isolated_mut(&mut self, task: usize) -> &mut Isolated {
        self.clones.get_mut(&task).expect("BUG: only tasks with a clone are merged")
    }
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
