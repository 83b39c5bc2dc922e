//! The last step of a merge: the files, the index and the branch of the workspace. It is written down before, beside the
//! clone, and what an interrupted one changed is taken back before anything else is merged there.

use std::cell::Cell;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use contract::domain::attempt::AttemptId;
use contract::domain::limits;

use super::keep::CloneLock;
use super::put::{Put, Shift};
use super::{Worktree, WorktreeError, Worktrees, io};
use crate::git::{Repo, Runner};
use crate::regular_file;
use crate::remove_tree::remove_tree;

/// How often the workspace's index is tried while another git holds it.
const INDEX_TRIES: u32 = 20;
/// What writ writes into the lock of an index is one short line.
const LOCK_BYTES_MAX: usize = 4096;

/// A merge that may have changed files of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Underway {
    from: String,
    to: String,
    /// What is in the lock of the workspace's index while writ holds it. Git writes other things there.
    lock: String,
}

impl Worktrees {
    /// Undoes interrupted merges into a workspace. Later changes stay.
    pub fn settle(&self, runner: &Runner<'_>, workspace: &Path) -> Result<(), WorktreeError> {
        let workspace = workspace.to_string_lossy();
        let is_begun = |clone: &Worktree| clone.record.workspace == workspace && clone.underway.is_some();
        if !self.list()?.iter().any(is_begun) {
            return Ok(());
        }
        let _lock = self.lock(runner, &CloneLock::Merge(&workspace))?;
        self.settle_locked(runner, &workspace)
    }

    /// The same, where the lock on merges is held: the processes that began them are gone.
    pub(super) fn settle_locked(&self, runner: &Runner<'_>, workspace: &str) -> Result<(), WorktreeError> {
        let is_begun = |clone: &Worktree| clone.record.workspace == workspace && clone.underway.is_some();
        for mut clone in self.list()?.into_iter().filter(is_begun) {
            let repo = Repo::workspace(runner, workspace.as_ref())?;
            clone.take_back(runner, &repo)?;
        }
        Ok(())
    }
}

impl Worktree {
    /// Whether an attempt was done, and its work only had to be merged.
    pub fn was_judged(&self, attempt: &AttemptId) -> bool {
        self.judged.as_ref().is_some_and(|judged| *judged == attempt.to_string())
    }

    /// Changes files, index and branch of the workspace. `Landed`, or why not; then everything is as it was.
    pub(super) fn change_workspace(
        &mut self,
        runner: &Runner<'_>,
        workspace: &Repo<'_>,
        (from, to): (&str, &str),
    ) -> Result<LandingResult, WorktreeError> {
        let lock = format!("writ merges {} {}\n", self.reference(), runner.mark);
        self.underway = Some(Underway { from: from.to_owned(), to: to.to_owned(), lock });
        self.judged = Some(runner.mark.to_string());
        self.write()?;
        let is_touched = Cell::new(false);
        let changed = self.change(runner, workspace, &is_touched);
        if matches!(changed, Ok(LandingResult::Landed)) || !is_touched.get() {
            self.end_underway(workspace)?;
            return changed;
        }
        match (changed, self.take_back(runner, workspace)) {
            (changed, Ok(())) => changed,
            (Err(fault), Err(other)) => Err(WorktreeError::Damaged(format!(
                "{fault}; what was changed could not be taken back: {other}"
            ))),
            (Ok(_), Err(other)) => Err(other),
        }
    }

    fn change(
        &self,
        runner: &Runner<'_>,
        workspace: &Repo<'_>,
        is_touched: &Cell<bool>,
    ) -> Result<LandingResult, WorktreeError> {
        let underway = self.underway.as_ref().expect("BUG: it is written down first");
        let index = WorkspaceIndex::of(workspace)?;
        index.lock(runner, &underway.lock)?;
        let (from, to) = (underway.from.as_str(), underway.to.as_str());
        match index.shift(workspace, self.record.workspace.as_ref(), (from, to))?.put(is_touched)? {
            Put::Done => {}
            Put::InTheWay(paths) => return Ok(LandingResult::InTheWay(paths)),
            Put::Staged(said) => return Ok(LandingResult::Staged(said)),
        }
        index.install()?;
        sync(self.record.workspace.as_ref())?;
        let told = format!("writ: merge {}", self.reference());
        match workspace.ask_patiently(&["update-ref", "-m", &told, "HEAD", to, from]) {
            Ok(_) => Ok(LandingResult::Landed),
            Err(_) if workspace.commit_of("HEAD")? != from => Ok(LandingResult::Moved),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Takes back what the merge changed, if it did not come to its end.
    fn take_back(&mut self, runner: &Runner<'_>, workspace: &Repo<'_>) -> Result<(), WorktreeError> {
        let Some(underway) = self.underway.clone() else { return Ok(()) };
        let (head, index) = (workspace.commit_of("HEAD")?, WorkspaceIndex::of(workspace)?);
        // Somebody who removed the lock and moved the branch has decided about the files too.
        let is_ours = index.is_held_by(&underway.lock) || head == underway.from;
        if is_ours && head != underway.to {
            index.lock(runner, &underway.lock)?;
            let back = (underway.to.as_str(), underway.from.as_str());
            let shift = index.shift(workspace, self.record.workspace.as_ref(), back)?;
            if shift.take_back()? == Put::Done {
                index.install()?;
            }
            sync(self.record.workspace.as_ref())?;
        }
        self.end_underway(workspace)
    }

    fn end_underway(&mut self, workspace: &Repo<'_>) -> Result<(), WorktreeError> {
        let Some(underway) = &self.underway else { return Ok(()) };
        WorkspaceIndex::of(workspace)?.unlock(&underway.lock)?;
        self.underway = None;
        self.write()
    }
}

/// The result of a change of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LandingResult {
    Landed,
    Moved,
    /// Paths that have uncommitted changes, or are not tracked.
    InTheWay(Vec<String>),
    /// What is in the index does not allow it, as git said.
    Staged(String),
}

fn sync(workspace: &Path) -> Result<(), WorktreeError> {
    let place = crate::snapshots::place::ScopeRoot::open(workspace);
    place.and_then(|place| place.sync()).map_err(io("sync", workspace))
}

/// The index of a workspace, and a directory beside it for what is prepared.
struct WorkspaceIndex {
    path: PathBuf,
    staging: PathBuf,
}

impl WorkspaceIndex {
    fn of(workspace: &Repo<'_>) -> Result<Self, WorktreeError> {
        let path = workspace.line(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        let path = PathBuf::from(path);
        let staging = path.with_file_name("writ-merge");
        Ok(Self { path, staging })
    }

    fn lock_path(&self) -> PathBuf {
        self.path.with_file_name("index.lock")
    }

    fn is_held_by(&self, text: &str) -> bool {
        regular_file::read(&self.lock_path(), LOCK_BYTES_MAX).is_ok_and(|found| found == text.as_bytes())
    }

    /// Keeps every git from changing the index. Waits for one that does. The text appears in one step with the lock, so that
    /// a lock that was left behind is known to be writ's.
    fn lock(&self, runner: &Runner<'_>, text: &str) -> Result<(), WorktreeError> {
        let path = self.lock_path();
        let fresh = self.path.with_file_name(format!("index.lock.writ-{}", std::process::id()));
        for _ in 0..INDEX_TRIES {
            if self.is_held_by(text) {
                return Ok(());
            }
            fs::write(&fresh, text).map_err(io("write", &fresh))?;
            let linked = fs::hard_link(&fresh, &path);
            fs::remove_file(&fresh).map_err(io("remove", &fresh))?;
            match linked {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    runner.launcher.pause(limits::HINDRANCE_POLL);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(io("lock", &path)(error)),
                // A file system without hard links.
                Err(_) => {
                    let made =
                        fs::File::create_new(&path).and_then(|mut lock| lock.write_all(text.as_bytes()));
                    match made {
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        made => return made.map_err(io("lock", &path)),
                    }
                }
            }
        }
        Err(WorktreeError::IndexLocked(path.display().to_string()))
    }

    fn unlock(&self, text: &str) -> Result<(), WorktreeError> {
        let path = self.lock_path();
        if self.is_held_by(text) {
            remove_if_there(remove_tree(&self.staging), &self.staging)?;
            remove_if_there(fs::remove_file(&path), &path)?;
        }
        Ok(())
    }

    /// A change of files, with a copy of the index.
    fn shift<'s>(
        &self,
        workspace: &Repo<'s>,
        root: &'s Path,
        (from, to): (&'s str, &'s str),
    ) -> Result<Shift<'s>, WorktreeError> {
        remove_if_there(remove_tree(&self.staging), &self.staging)?;
        fs::create_dir(&self.staging).map_err(io("make", &self.staging))?;
        let copy = self.copy();
        fs::copy(&self.path, &copy).map_err(io("copy", &self.path))?;
        let repo = workspace.clone().with_index(&copy);
        Ok(Shift { repo, root, staging: self.staging.join("files"), from, to })
    }

    fn copy(&self) -> PathBuf {
        self.staging.join("index")
    }

    /// Makes the copy the index.
    fn install(&self) -> Result<(), WorktreeError> {
        fs::rename(self.copy(), &self.path).map_err(io("write", &self.path))
    }
}

fn remove_if_there(removed: std::io::Result<()>, path: &Path) -> Result<(), WorktreeError> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(io("remove", path)),
    }
}
