//! Clones that are kept: how they compare with their workspaces, and the deletion of those that nobody needs.

use std::fs;
use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use contract::domain::limits;
use contract::domain::worktree::Standing;

use super::{Fault, ONTO, Worktree, Worktrees, entries, io, is_trash};
use crate::git::{Repo, Runner, copy_index};

impl Worktrees {
    /// Held until the file is dropped. Waits for other holders for a while.
    pub(super) fn lock(&self, runner: &Runner<'_>, name: &str) -> Result<File, Fault> {
        let path = self.root()?.join(name);
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
                return Err(Fault::Busy);
            }
            runner.launcher.pause(limits::HINDRANCE_POLL);
        }
    }

    /// Deletes a clone whose work is in the workspace, or that has none. Looks again before it does.
    pub fn remove(&self, runner: &Runner<'_>, clone: &Worktree) -> Result<bool, Fault> {
        let _lock = self.lock(runner, "clones.lock")?;
        let is_free = self.remove_locked(runner, clone)?;
        self.empty_trash();
        Ok(is_free)
    }

    fn remove_locked(&self, runner: &Runner<'_>, clone: &Worktree) -> Result<bool, Fault> {
        match clone.standing(runner) {
            Standing::Empty | Standing::Merged => {}
            Standing::Unmerged { .. } | Standing::Unknown { .. } => return Ok(false),
        }
        let workspace = Repo::workspace(runner, clone.record.workspace.as_ref())?;
        // The commit that it names is in the current branch.
        workspace.ask(&["update-ref", "-d", &clone.reference()])?;
        // In one step, so that half of a clone is never taken for one.
        let trash = self.root()?.join(format!(".trash-{}", clone.record.task_id));
        if trash.exists() {
            fs::remove_dir_all(&trash).map_err(io("remove", &trash))?;
        }
        fs::rename(&clone.directory, &trash).map_err(io("remove", &clone.directory))?;
        fs::remove_dir_all(&trash).map_err(io("remove", &trash))?;
        if let Some(run) = clone.directory.parent() {
            // Fails while other clones of the run are there.
            fs::remove_dir(run).ok();
        }
        Ok(true)
    }

    /// Makes room: clones whose work was merged go. The lock on clones is held.
    pub(super) fn collect_merged(&self, runner: &Runner<'_>, kept: &[Worktree]) {
        for clone in kept.iter().filter(|clone| clone.landed.is_some()) {
            // One that cannot be removed stays, and still counts.
            self.remove_locked(runner, clone).ok();
        }
        self.empty_trash();
    }

    /// What is left of deletions that were interrupted.
    fn empty_trash(&self) {
        let Ok(root) = self.root() else { return };
        for path in entries(root).unwrap_or_default().into_iter().filter(|path| is_trash(path)) {
            // The next deletion tries again.
            fs::remove_dir_all(&path).ok();
        }
    }
}

impl Worktree {
    /// How the clone compares with its workspace.
    pub fn standing(&self, runner: &Runner<'_>) -> Standing {
        self.compared(runner).unwrap_or_else(|fault| Standing::Unknown { reason: fault.to_string() })
    }

    fn compared(&self, runner: &Runner<'_>) -> Result<Standing, Fault> {
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
        // A commit that no branch has is gone when somebody checks out another one.
        let on_branch =
            ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", &reached, "refs/heads"];
        if is_detached && workspace.line(&on_branch)?.is_empty() {
            return Ok(unmerged(reached));
        }
        Ok(standing)
    }
}

/// Makes a directory that only its owner can read.
pub(super) fn private_directory(path: &Path) -> Result<(), Fault> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("make", path))
}
