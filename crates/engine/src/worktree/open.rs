//! Makes the clone of a task.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use contract::domain::worktree::{Ports, WorktreeRecord};

use super::keep::CloneLock;
use super::{ONTO, RESULT, Worktree, WorktreeError, Worktrees, directory_of, io};
use crate::git::{Repo, Runner};

/// Paths that a refusal names.
const NAMED_MAX: usize = 5;
/// The rules of a repository that only it has.
const EXCLUDE_BYTES_MAX: usize = 1024 * 1024;

/// Whose clone it is.
pub struct CloneOrder<'o> {
    pub run: &'o RunId,
    pub task: &'o TaskId,
    pub name: &'o str,
    pub workspace: &'o Path,
    pub ports: u16,
    pub at: Timestamp,
}

impl Worktrees {
    /// The clone of a task: the one that it has, or a new one of what the workspace has committed. Refused where the
    /// workspace has changes of tracked files that are not committed. Nobody removes it until the file is dropped, so the
    /// caller keeps it until the store has the attempt.
    pub fn open(
        &self,
        runner: &Runner<'_>,
        order: &CloneOrder<'_>,
    ) -> Result<(Worktree, File), WorktreeError> {
        let root = self.root()?;
        let directory = directory_of(root, order.run.as_str(), order.name);
        self.settle(runner, order.workspace)?;
        super::keep::private_directory(root)?;
        if let Some((mut known, hold)) = self.hold_known(runner, &directory)? {
            known.adopt(runner)?;
            known.unlock()?;
            known.move_back(runner)?;
            return Ok((known, hold));
        }
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if real(root).starts_with(real(order.workspace)) {
            return Err(WorktreeError::Inside);
        }
        let workspace = Repo::workspace(runner, order.workspace)?;
        let base = workspace.commit_of("HEAD").map_err(|_| WorktreeError::NoCommit)?;
        refuse_uncommitted(&workspace)?;
        let (mut clone, making) = self.reserve(runner, order, directory, base)?;
        if let Err(fault) = clone.fill(runner, &workspace, order.workspace) {
            // Its ports are free again. What is left of it is removed by the next collection.
            self.discard(&clone).ok();
            self.empty_trash();
            return Err(fault);
        }
        self.empty_trash();
        clone.is_unfinished = false;
        clone.write()?;
        Ok((clone, making))
    }

    /// The clone in a directory, if it was made completely. Nobody removes it between the look and the lock.
    fn hold_known(
        &self,
        runner: &Runner<'_>,
        directory: &Path,
    ) -> Result<Option<(Worktree, File)>, WorktreeError> {
        if !directory.exists() {
            return Ok(None);
        }
        let _lock = self.lock(runner, &CloneLock::Clones)?;
        let Some(known) = known(directory)? else { return Ok(None) };
        let hold = known.hold()?.ok_or(WorktreeError::InUse)?;
        Ok(Some((known, hold)))
    }

    /// Takes a place and ports for a clone that is to be made. Others wait only for this, not until it is made.
    fn reserve(
        &self,
        runner: &Runner<'_>,
        order: &CloneOrder<'_>,
        directory: PathBuf,
        base: String,
    ) -> Result<(Worktree, File), WorktreeError> {
        let _lock = self.lock(runner, &CloneLock::Clones)?;
        let record = self.new_record(runner, order, &directory, base)?;
        let clone = Worktree {
            directory,
            record,
            landed: None,
            underway: None,
            judged: None,
            conflict_tasks: Vec::new(),
            is_unfinished: true,
            store: runner.launcher.store().cloned(),
        };
        // Nothing has run in it: it is what is left of an engine that died here.
        if clone.directory.exists() {
            self.discard(&clone)?;
        }
        fs::create_dir_all(&clone.directory).map_err(io("make", &clone.directory))?;
        let making = clone.hold()?.ok_or(WorktreeError::InUse)?;
        clone.write()?;
        Ok((clone, making))
    }

    fn new_record(
        &self,
        runner: &Runner<'_>,
        order: &CloneOrder<'_>,
        directory: &Path,
        base: String,
    ) -> Result<WorktreeRecord, WorktreeError> {
        let others = || -> Result<Vec<Worktree>, WorktreeError> {
            Ok(self.list()?.into_iter().filter(|clone| clone.directory != directory).collect())
        };
        let mut kept = others()?;
        if kept.len() >= limits::WORKTREES_MAX {
            self.discard_all_merged(runner, &kept);
            kept = others()?;
        }
        if kept.len() >= limits::WORKTREES_MAX {
            return Err(WorktreeError::TooMany);
        }
        let taken: Vec<Ports> = kept.iter().filter_map(|clone| clone.record.ports).collect();
        let ports = match order.ports {
            0 => None,
            count => Some(Ports::free(count, &taken).ok_or(WorktreeError::NoPorts(count))?),
        };
        Ok(WorktreeRecord {
            run_id: order.run.clone(),
            task_id: order.task.clone(),
            name: order.name.to_owned(),
            workspace: order.workspace.to_string_lossy().into_owned(),
            base,
            ports,
            set_up: 0,
            created_at: order.at,
        })
    }
}

impl Worktree {
    /// Removes the locks that a git of an engine that died left in writ's own repository. Nobody else uses it.
    fn unlock(&self) -> Result<(), WorktreeError> {
        let heads = self.git_dir().join("refs/heads");
        for path in super::entries(&self.git_dir())?.into_iter().chain(super::entries(&heads)?) {
            if path.extension().is_some_and(|extension| extension == "lock") {
                fs::remove_file(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(())
    }

    fn fill(&self, runner: &Runner<'_>, workspace: &Repo<'_>, from: &Path) -> Result<(), WorktreeError> {
        let (tree, git, base) = (self.tree(), self.git_dir(), &self.record.base);
        let outside = Repo::none(runner, &self.directory);
        let texts = [from, &tree, &git].map(|path| path.to_str().ok_or(WorktreeError::NotText));
        let [from, tree_text, git_text] = texts;
        let (from, tree_text, git_text) = (from?, tree_text?, git_text?);
        // A template could have hooks.
        let words = ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", from, tree_text];
        outside.ask(&words)?;
        let format = workspace.line(&["rev-parse", "--show-object-format"])?;
        let format = format!("--object-format={format}");
        outside.ask(&["init", "--quiet", "--bare", "--template=", &format, "--", git_text])?;
        let objects = workspace.line(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        self.share_objects(Path::new(&objects))?;
        self.share_rules(workspace)?;
        let clone = Repo::none(runner, &tree);
        clone.ask(&["checkout", "--quiet", "-B", &self.branch(), base, "--"])?;
        for (name, value) in identity(workspace) {
            clone.ask(&["config", &name, &value])?;
        }
        // An agent's push must not change the workspace's branches.
        clone.ask(&["config", "remote.origin.pushurl", "/dev/null"])?;
        let private = self.private(runner);
        private.ask(&["read-tree", base])?;
        for name in [ONTO, RESULT] {
            private.ask(&["update-ref", name, base])?;
        }
        // As long as the clone needs the commit, the workspace's repository keeps it.
        workspace.ask(&["update-ref", &self.reference(), base])?;
        Ok(())
    }

    /// writ's own repository reads the objects of the workspace and of the clone.
    fn share_objects(&self, workspace: &Path) -> Result<(), WorktreeError> {
        let own = self.tree().join(".git/objects");
        let mut lines = String::new();
        for path in [workspace, &own] {
            let text = path.to_str().filter(|text| !text.contains('\n') && !text.starts_with(['"', '#']));
            lines.push_str(text.ok_or(WorktreeError::NotText)?);
            lines.push('\n');
        }
        let path = self.git_dir().join("objects/info/alternates");
        fs::create_dir_all(self.git_dir().join("objects/info")).map_err(io("make", &path))?;
        fs::write(&path, lines).map_err(io("write", &path))
    }

    /// What the workspace's repository ignores by rules of its own is ignored in the clone.
    fn share_rules(&self, workspace: &Repo<'_>) -> Result<(), WorktreeError> {
        let path = workspace.line(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"])?;
        let Ok(rules) = crate::regular_file::read(Path::new(&path), EXCLUDE_BYTES_MAX) else { return Ok(()) };
        for directory in [self.git_dir(), self.tree().join(".git")] {
            let info: PathBuf = directory.join("info");
            fs::create_dir_all(&info).map_err(io("make", &info))?;
            fs::write(info.join("exclude"), &rules).map_err(io("write", &info))?;
        }
        Ok(())
    }
}

/// The committer identity of the workspace's repository. The clone uses the same.
fn identity(workspace: &Repo<'_>) -> Vec<(String, String)> {
    let words = ["config", "--local", "--null", "--get-regexp", "^user\\.(name|email)$"];
    // It is an error that nothing is set.
    let entries = workspace.names(&words).unwrap_or_default();
    let entries = entries.iter().filter_map(|entry| entry.split_once('\n'));
    entries.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The clone in a directory, if it was made completely.
fn known(directory: &Path) -> Result<Option<Worktree>, WorktreeError> {
    match Worktree::read(directory) {
        Ok(known) if known.is_unfinished => Ok(None),
        Ok(known) if known.has_tree() => Ok(Some(known)),
        Ok(known) => {
            let place = known.tree().display().to_string();
            Err(WorktreeError::Damaged(format!("the clone of the task is gone from {place}")))
        }
        Err(WorktreeError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn refuse_uncommitted(workspace: &Repo<'_>) -> Result<(), WorktreeError> {
    workspace.refresh()?;
    let words = ["diff-index", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff", "HEAD", "--"];
    let changed = workspace.names(&words)?;
    if changed.is_empty() {
        return Ok(());
    }
    let named: Vec<&str> = changed.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = changed.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(WorktreeError::Uncommitted(format!("{}{more}", named.join(", "))))
}
