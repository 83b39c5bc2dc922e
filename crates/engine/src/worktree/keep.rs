//! Kept clones: how they compare with their workspaces, and the deletion of unneeded ones.

use std::fs;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use contract::domain::limits;
use contract::domain::worktree::Standing;

use super::{ONTO, Worktree, WorktreeError, Worktrees, io};
use crate::git::{Repo, Runner, copy_index};
use crate::launcher::with_causes;
use crate::remove_tree::remove_tree;

/// What a lock keeps others from.
pub(super) enum CloneLock<'l> {
    /// Adding and removing clones.
    Clones,
    /// Merging into this workspace.
    Merge(&'l str),
}

impl CloneLock<'_> {
    fn file_name(&self) -> String {
        match self {
            CloneLock::Clones => "clones.lock".to_owned(),
            CloneLock::Merge(workspace) => {
                let digest = contract::digest::of_bytes(workspace.as_bytes());
                format!("merge-{}.lock", &digest["sha256:".len()..][..LOCK_NAME_LENGTH])
            }
        }
    }

    fn told(&self) -> &'static str {
        match self {
            CloneLock::Clones => "another process that adds or removes clones",
            CloneLock::Merge(_) => "another merge into the workspace",
        }
    }
}

/// So much of a digest names the lock of a workspace.
const LOCK_NAME_LENGTH: usize = 16;

impl Worktrees {
    /// Held until the file is dropped. Waits for other holders for a while.
    pub(super) fn lock(&self, runner: &Runner<'_>, lock: &CloneLock<'_>) -> Result<File, WorktreeError> {
        let path = self.root()?.join(lock.file_name());
        let file = File::options().create(true).append(true).open(&path).map_err(io("open", &path))?;
        let begun_ms = runner.launcher.monotonic_ms();
        let wait_ms = i64::try_from(limits::MERGE_WAIT_MAX.as_millis()).unwrap_or(i64::MAX);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(io("lock", &path)(error)),
            }
            if runner.launcher.monotonic_ms() - begun_ms > wait_ms {
                return Err(WorktreeError::Busy(lock.told()));
            }
            runner.launcher.pause(limits::HINDRANCE_POLL);
        }
    }

    /// Deletes a clone without unmerged work. Checks again before it does.
    pub fn remove(&self, runner: &Runner<'_>, clone: &Worktree) -> Result<bool, WorktreeError> {
        let lock = self.lock(runner, &CloneLock::Clones)?;
        let trash = self.discard_merged(runner, clone)?;
        // Nobody has to wait for the deletion.
        drop(lock);
        match trash.as_ref().map(|trash| (trash, remove_tree(trash))) {
            // Somebody else is emptying the trash.
            Some((_, Err(error))) if error.kind() == ErrorKind::NotFound => {}
            Some((trash, Err(error))) => return Err(io("remove", trash)(error)),
            Some((_, Ok(()))) | None => {}
        }
        Ok(trash.is_some())
    }

    /// Takes a clone away if its work is in the workspace, or it has none, and no other store used it last. Returns where it is now, to be deleted. The lock
    /// on clones is held.
    fn discard_merged(
        &self,
        runner: &Runner<'_>,
        clone: &Worktree,
    ) -> Result<Option<PathBuf>, WorktreeError> {
        if clone.is_of_another_store(runner) {
            return Ok(None);
        }
        match clone.standing(runner) {
            Standing::Empty | Standing::Merged => {}
            Standing::Unmerged { .. } | Standing::Unknown { .. } => return Ok(None),
        }
        let hold = clone.hold()?;
        if hold.is_none() {
            return Ok(None);
        }
        let workspace = Repo::workspace(runner, clone.record.workspace.as_ref())?;
        // The commit that it names is in the current branch.
        workspace.ask_patiently(&["update-ref", "-d", &clone.reference()])?;
        self.discard(clone).map(Some)
    }

    /// Takes the directory of a clone away in one step, so that half of a clone is never taken for one.
    pub(super) fn discard(&self, clone: &Worktree) -> Result<PathBuf, WorktreeError> {
        let root = self.root()?;
        let name = |number: u32| root.join(format!(".trash-{}.{number}", clone.record.task_id));
        let free = (0..TRASH_NAMES_MAX).map(name).find(|path| path.symlink_metadata().is_err());
        let trash = free.unwrap_or_else(|| name(TRASH_NAMES_MAX));
        fs::rename(&clone.directory, &trash).map_err(io("remove", &clone.directory))?;
        if let Some(run) = clone.directory.parent() {
            // Fails while other clones of the run are there.
            fs::remove_dir(run).ok();
        }
        Ok(trash)
    }

    /// Makes room by removing merged clones. The lock on clones is held.
    pub(super) fn discard_all_merged(&self, runner: &Runner<'_>, kept: &[Worktree]) {
        for clone in kept.iter().filter(|clone| clone.landed.is_some()) {
            // One that cannot be removed stays, and still counts.
            self.discard_merged(runner, clone).ok();
        }
    }

    /// Deletes what was taken away and is still there. What cannot be deleted is listed as left.
    pub fn empty_trash(&self) {
        for path in self.trash().unwrap_or_default() {
            // The next removal tries again.
            remove_tree(&path).ok();
        }
    }
}

/// Names for what is to be deleted of one task. More are there only if none of them could be.
const TRASH_NAMES_MAX: u32 = 100;

impl Worktree {
    /// How the clone compares with its workspace.
    pub fn standing(&self, runner: &Runner<'_>) -> Standing {
        self.compared(runner).unwrap_or_else(|fault| Standing::Unknown { reason: with_causes(&fault) })
    }

    /// Held while a clone is made, entered or removed. `None` if it is already held.
    pub(super) fn hold(&self) -> Result<Option<File>, WorktreeError> {
        let path = self.directory.join(super::HOLD);
        let file = File::options().create(true).append(true).open(&path).map_err(io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io("lock", &path)(error)),
        }
    }

    fn compared(&self, runner: &Runner<'_>) -> Result<Standing, WorktreeError> {
        if self.is_unfinished {
            let being_made = Standing::Unknown { reason: "it is being made".to_owned() };
            return Ok(if self.hold()?.is_some() { Standing::Empty } else { being_made });
        }
        self.refuse_moved()?;
        if self.underway.is_some() {
            let reason = format!("its merge was interrupted; `writ run --continue {}`", self.record.run_id);
            return Ok(Standing::Unknown { reason });
        }
        let workspace = Repo::workspace(runner, self.record.workspace.as_ref())?;
        let head = workspace.commit_of("HEAD")?;
        let is_detached = !workspace.says(&["symbolic-ref", "--quiet", "HEAD"])?;
        // With a list of files of its own: an engine may use the other one.
        let list = self.git_dir().join(format!("index.{}", runner.mark));
        copy_index(&self.git_dir().join("index"), &list).map_err(io("copy", &list))?;
        let private = self.private(runner).with_index(&list);
        let tree = self.tree_now(&private);
        fs::remove_file(&list).map_err(io("remove", &list))?;
        let tree = tree?;
        let known = match &self.landed {
            Some(landed) if landed.tree == tree && private.is_ancestor(&landed.commit, &head)? => {
                Some((Standing::Merged, landed.commit.clone()))
            }
            Some(_) => None,
            None if private.tree_of(ONTO)? == tree => {
                let onto = private.commit_of(ONTO)?;
                // What a trial put there is merged only with the rest.
                private.is_ancestor(&onto, &head)?.then_some((Standing::Empty, onto))
            }
            None => None,
        };
        let unmerged = |commit: String| Standing::Unmerged { commit };
        let Some((standing, reached)) = known else { return Ok(unmerged(private.commit_of(super::RESULT)?)) };
        for id in self.own_tips()? {
            // What is no commit, a tag on a file for example, is not in the workspace either.
            let Some(commit) = private.commit_if_any(&id)? else { return Ok(unmerged(id)) };
            let is_reached =
                private.is_ancestor(&commit, &reached)? || private.is_ancestor(&commit, &head)?;
            if !is_reached {
                return Ok(unmerged(commit));
            }
        }
        // A detached commit is lost with the next checkout.
        let on_branch =
            ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", &reached, "refs/heads"];
        if is_detached && workspace.line(&on_branch)?.is_empty() {
            return Ok(unmerged(reached));
        }
        Ok(standing)
    }
}

/// Makes a directory that only its owner can read.
pub(super) fn private_directory(path: &Path) -> Result<(), WorktreeError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("make", path))
}
