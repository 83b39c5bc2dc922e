//! Clones in which tasks work apart from each other, and the way of their work into the workspace.
//!
//! A clone has two repositories: the one that the task uses, and one of writ's own beside it, which has the same files as
//! its working tree. writ's git never reads the configuration of the first, because the task could have written it.

mod again;
mod discard;
mod keep;
mod landing;
mod merge;
mod open;
mod put;
mod tip;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use contract::domain::limits;
use contract::domain::process::StoreFile;
use contract::domain::worktree::{MergeConflict, WorktreeRecord, part_name};

use crate::git;
use crate::launcher::with_causes;

pub use merge::{MergeCandidate, PreparedMerge, Trial};
pub use open::CloneOrder;
pub use tip::Author;

/// The record of a clone, beside it.
const RECORD: &str = "worktree.json";
const NEW_RECORD: &str = "worktree.json.new";
/// Locked while the clone is made, entered or removed.
const HOLD: &str = "making.lock";
const RECORD_BYTES_MAX: usize = 64 * 1024;
/// writ's own reference to what a task did.
const RESULT: &str = "refs/heads/result";
/// The base commit of the clone's files.
const ONTO: &str = "refs/heads/onto";
/// The commit that is to become the workspace's.
const MERGED: &str = "refs/heads/merged";

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("no clones are kept here")]
    Nowhere,
    #[error("the repository has no commit yet, which a clone needs: `git commit` first")]
    NoCommit,
    #[error("clones would be inside the workspace, beside the store; keep the store elsewhere")]
    Inside,
    #[error("the workspace has uncommitted changes, which a clone would not have; commit or stash them: {0}")]
    Uncommitted(String),
    #[error("{} clones are kept, and all of them are needed", limits::WORKTREES_MAX)]
    TooMany,
    #[error("{max} discarded clones are kept (DISCARDED_MAX); delete bundles in {0} that nobody needs", max = limits::DISCARDED_MAX)]
    TooManyDiscarded(String),
    #[error("there is no clone of `{0}`")]
    Gone(String),
    #[error("it was changed meanwhile, so nothing was done")]
    Changed,
    #[error("its merge was interrupted; `writ run --continue {0}` ends it")]
    Underway(String),
    #[error("it is being made")]
    BeingMade,
    #[error("an engine is using it")]
    InUse,
    #[error("git counted `{0}` commits")]
    Uncounted(String),
    /// The caller's check under the lock refused it.
    #[error("{}", .0.message)]
    Refused(Box<ops::Error>),
    #[error("no {0} free ports are left")]
    NoPorts(u16),
    #[error("{0} is a git repository of its own, whose files cannot be merged")]
    Nested(String),
    #[error("a name is not UTF-8")]
    NotText,
    #[error("waited {seconds} s for {0} (MERGE_WAIT_MAX)", seconds = limits::MERGE_WAIT_MAX.as_secs())]
    Busy(&'static str),
    #[error("another git process holds the workspace's index; if none is running, delete {0}")]
    IndexLocked(String),
    #[error(transparent)]
    Git(#[from] git::GitError),
    #[error("{0}")]
    Damaged(String),
    #[error("could not {doing} {path}")]
    Io { doing: &'static str, path: String, source: std::io::Error },
}

fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> WorktreeError + use<> {
    let path = path.display().to_string();
    move |source| WorktreeError::Io { doing, path: path.clone(), source }
}

/// The clones beside a store.
#[derive(Debug, Clone, Default)]
pub struct Worktrees {
    /// `None` where none are kept.
    root: Option<PathBuf>,
}

impl Worktrees {
    pub fn at(root: PathBuf) -> Self {
        Self { root: Some(root) }
    }

    fn root(&self) -> Result<&Path, WorktreeError> {
        self.root.as_deref().ok_or(WorktreeError::Nowhere)
    }

    /// Every clone with a readable record, sorted by run and task.
    pub fn list(&self) -> Result<Vec<Worktree>, WorktreeError> {
        Ok(self.directories()?.into_iter().filter_map(|clone| Worktree::read(&clone).ok()).collect())
    }

    /// The clone that has this record.
    pub fn of_task(&self, record: &WorktreeRecord) -> Result<Worktree, WorktreeError> {
        let found = self.list()?.into_iter().find(|clone| clone.record.task_id == record.task_id);
        found.ok_or_else(|| WorktreeError::Gone(record.name.clone()))
    }

    /// Every other directory and the reason: clones without a readable record, and leftovers of removals.
    pub fn leftovers(&self) -> Result<Vec<(PathBuf, String)>, WorktreeError> {
        let mut left = Vec::new();
        for clone in self.directories()? {
            if let Err(fault) = Worktree::read(&clone) {
                left.push((clone, with_causes(&fault)));
            }
        }
        let trash = self.trash()?.into_iter();
        left.extend(trash.map(|path| (path, "it could not be removed completely".to_owned())));
        Ok(left)
    }

    /// The directories of clones.
    fn directories(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let mut found = Vec::new();
        let Some(root) = &self.root else { return Ok(found) };
        for run in entries(root)? {
            // Files are locks.
            if run.is_dir() && !is_trash(&run) {
                found.extend(entries(&run)?);
            }
        }
        Ok(found)
    }

    /// What is left of clones that were removed.
    fn trash(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let Some(root) = &self.root else { return Ok(Vec::new()) };
        Ok(entries(root)?.into_iter().filter(|path| is_trash(path)).collect())
    }
}

/// A clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    directory: PathBuf,
    pub record: WorktreeRecord,
    /// What was in it when its work was merged.
    landed: Option<Landed>,
    /// A merge that has begun and may have changed files of the workspace.
    underway: Option<landing::Underway>,
    /// The last attempt with work to merge. It was done by then.
    judged: Option<String>,
    /// Tasks that were created because its work could not be merged.
    pub conflict_tasks: Vec<String>,
    /// It is being made, or its engine died meanwhile: nothing has run in it.
    is_unfinished: bool,
    /// The store that used it last. Records of earlier versions have none.
    store: Option<StoreFile>,
}

/// The commit that was merged, and the files of the clone then: checks may have left some.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Landed {
    commit: String,
    tree: String,
}

/// The stored form.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredWorktree {
    worktree: WorktreeRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    landed: Option<Landed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    underway: Option<landing::Underway>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflict_tasks: Vec<String>,
    #[serde(default)]
    unfinished: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    store: Option<StoreFile>,
}

impl Worktree {
    fn read(directory: &Path) -> Result<Self, WorktreeError> {
        let path = directory.join(RECORD);
        let bytes = crate::regular_file::read(&path, RECORD_BYTES_MAX).map_err(io("read", &path))?;
        let written: StoredWorktree = serde_json::from_slice(&bytes)
            .map_err(|error| WorktreeError::Damaged(format!("{} is damaged: {error}", path.display())))?;
        let StoredWorktree { worktree: record, landed, underway, judged, conflict_tasks, unfinished, store } =
            written;
        let (directory, is_unfinished) = (directory.to_owned(), unfinished);
        Ok(Self { directory, record, landed, underway, judged, conflict_tasks, is_unfinished, store })
    }

    /// Replaces the record in one step.
    fn write(&self) -> Result<(), WorktreeError> {
        let (worktree, landed, underway) = (self.record.clone(), self.landed.clone(), self.underway.clone());
        let (judged, unfinished) = (self.judged.clone(), self.is_unfinished);
        let (conflict_tasks, store) = (self.conflict_tasks.clone(), self.store.clone());
        let written =
            StoredWorktree { worktree, landed, underway, judged, conflict_tasks, unfinished, store };
        let bytes = serde_json::to_vec_pretty(&written).expect("BUG: a record has a JSON form");
        let path = self.directory.join(RECORD);
        let new = self.directory.join(NEW_RECORD);
        let write = || {
            let mut file = fs::File::create(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            fs::File::open(&self.directory)?.sync_all()
        };
        write().map_err(io("write", &path))
    }

    /// Whether the store that used it last is another one, or another copy of the file.
    fn is_of_another_store(&self, runner: &git::Runner<'_>) -> bool {
        let own = runner.launcher.store();
        self.store.as_ref().zip(own).is_some_and(|(recorded, own)| !own.is_recorded_as(recorded))
    }

    /// Notes that this store uses it.
    fn adopt(&mut self, runner: &git::Runner<'_>) -> Result<(), WorktreeError> {
        let own = runner.launcher.store();
        if own.is_none() || self.store.as_ref() == own {
            return Ok(());
        }
        self.store = own.cloned();
        self.write()
    }

    /// Notes a task that was created because the work could not be merged.
    pub fn note_conflict(&mut self, task: &str) -> Result<(), WorktreeError> {
        if self.conflict_tasks.len() < limits::CONFLICT_TASKS_MAX
            && !self.conflict_tasks.iter().any(|known| known == task)
        {
            self.conflict_tasks.push(task.to_owned());
            self.write()?;
        }
        Ok(())
    }

    /// Notes that this many setup commands have ended well.
    pub fn set_up(&mut self, commands: usize) -> Result<(), WorktreeError> {
        self.record.set_up = commands;
        self.write()
    }

    /// The files of the clone.
    pub fn tree(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// Whether the files are where they were put: not moved aside, with something else in their place.
    fn has_tree(&self) -> bool {
        let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        is_directory(&self.tree()) && is_directory(&self.tree().join(".git"))
    }

    /// Refuses a clone with moved or additional files.
    fn refuse_moved(&self) -> Result<(), WorktreeError> {
        if !self.has_tree() {
            let place = self.tree().display().to_string();
            return Err(WorktreeError::Damaged(format!("the clone of the task is gone from {place}")));
        }
        let known = ["git", "tree", RECORD, NEW_RECORD, HOLD];
        let is_strange = |path: &PathBuf| !known.iter().any(|name| path.ends_with(name));
        match entries(&self.directory)?.into_iter().find(is_strange) {
            Some(path) => {
                Err(WorktreeError::Damaged(format!("something else is beside the clone: {}", path.display())))
            }
            None => Ok(()),
        }
    }

    fn git_dir(&self) -> PathBuf {
        self.directory.join("git")
    }

    fn private<'g>(&self, runner: &'g git::Runner<'g>) -> git::Repo<'g> {
        git::Repo::private(runner, &self.git_dir(), &self.tree())
    }

    /// The branch that the task works on in its clone.
    fn branch(&self) -> String {
        format!("writ/{}", part_name(&self.record.name))
    }

    fn reference(&self) -> String {
        contract::domain::worktree::reference(&self.record.run_id, &self.record.name)
    }
}

/// What became of the work of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// It is in the workspace. Nothing was changed if it was there already.
    Landed,
    /// The workspace moved on: it has to be brought together again.
    Moved,
    Conflict(Box<MergeConflict>),
}

fn directory_of(root: &Path, run: &str, task: &str) -> PathBuf {
    root.join(run).join(part_name(task))
}

/// Paths in a directory, sorted; none if it does not exist.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let found = match fs::read_dir(directory) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io("read", directory)(error)),
    };
    let paths = found.map(|entry| entry.map(|entry| entry.path()).map_err(io("read", directory)));
    let mut paths = paths.collect::<Result<Vec<PathBuf>, WorktreeError>>()?;
    paths.sort();
    Ok(paths)
}

/// Whether it is what is left of a clone that is being deleted.
fn is_trash(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".trash"))
}
