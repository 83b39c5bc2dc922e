//! Discarding a clone with its work: what would be lost, and the bundle that restores it.

use std::fs;
use std::path::{Path, PathBuf};

use contract::domain::id::{Attempt, Id};
use contract::domain::limits;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};

use super::keep::CloneLock;
use super::{ONTO, RESULT, Worktree, WorktreeError, Worktrees, io};
use crate::git::{Repo, Runner, copy_index};
use crate::launcher::with_causes;
use crate::remove_tree::remove_tree;
use crate::supervisor::Stdin;

/// Under this name the bundle has what was in the clone.
const DISCARDED: &str = "refs/heads/discarded";
/// And under this one what other branches and tags of the clone named.
const OTHERS: &str = "refs/discarded";
/// Beside the clones, so that nothing in a sandbox sees it.
const BUNDLE: &str = "bundle";
/// So much of its mark tells a discarded clone from others of its task.
const MARK_LENGTH: usize = 8;
/// Who commits what was left uncommitted.
const COMMITTER: &str = "writ";

/// What is in a clone at one time: the tree of its files, and what its references name.
#[derive(PartialEq, Eq)]
struct CloneContents {
    tree: String,
    tips: Vec<String>,
}

impl Worktrees {
    /// What would be lost with a clone. Refused while its merge is underway or it is being made.
    pub fn loss(&self, runner: &Runner<'_>, clone: &Worktree) -> Result<(Standing, Loss), WorktreeError> {
        clone.refuse_busy()?;
        let standing = clone.standing(runner);
        let loss = match &standing {
            Standing::Empty | Standing::Merged => Loss::default(),
            Standing::Unknown { reason } => Loss { cannot_keep: Some(reason.clone()), ..Loss::default() },
            Standing::Unmerged { .. } => clone
                .loss(runner)
                .unwrap_or_else(|fault| Loss { cannot_keep: Some(with_causes(&fault)), ..Loss::default() }),
        };
        Ok((standing, loss))
    }

    /// Deletes a clone with its work if it is unchanged since it was inspected. The work is first written to a bundle, whose
    /// path is returned. `unused` is called while the clone is locked.
    pub fn discard_with_work(
        &self,
        runner: &Runner<'_>,
        clone: &Worktree,
        (seen, loss): (&Standing, &Loss),
        unused: impl FnOnce() -> Result<(), WorktreeError>,
    ) -> Result<Option<PathBuf>, WorktreeError> {
        let lock = self.lock(runner, &CloneLock::Clones)?;
        // One that is not finished is held while it is compared.
        let hold = if clone.is_unfinished { None } else { Some(clone.hold()?.ok_or(WorktreeError::InUse)?) };
        unused()?;
        if self.loss(runner, clone)? != (seen.clone(), loss.clone()) {
            return Err(WorktreeError::Changed);
        }
        let is_kept = matches!(seen, Standing::Unmerged { .. }) && loss.cannot_keep.is_none();
        let bundle = if is_kept { Some(self.bundle(runner, clone)?) } else { None };
        if let Ok(workspace) = Repo::workspace(runner, clone.record.workspace.as_ref()) {
            workspace.ask_patiently(&["update-ref", "-d", &clone.reference()])?;
        }
        let trash = self.discard(clone)?;
        // Nobody has to wait for the deletion.
        drop((lock, hold));
        // What cannot be deleted is listed as left.
        remove_tree(&trash).ok();
        Ok(bundle)
    }

    /// The bundle of the clone that was discarded under this mark.
    pub fn bundle_of(
        &self,
        record: &WorktreeRecord,
        mark: &Id<Attempt>,
    ) -> Result<Option<PathBuf>, WorktreeError> {
        let path = bundle_path(self.root()?, record, mark);
        Ok(path.symlink_metadata().is_ok().then_some(path))
    }

    /// Writes what is in a clone and not in the commit that it began with to a file.
    fn bundle(&self, runner: &Runner<'_>, clone: &Worktree) -> Result<PathBuf, WorktreeError> {
        let root = self.root()?;
        let kept = super::entries(root)?.into_iter().filter(|path| path.extension() == Some(BUNDLE.as_ref()));
        if kept.count() >= limits::DISCARDED_MAX {
            return Err(WorktreeError::TooManyDiscarded(root.display().to_string()));
        }
        let path = bundle_path(root, &clone.record, &runner.mark);
        let text = path.to_str().ok_or(WorktreeError::NotText)?;
        let private = clone.private(runner);
        let names = clone.name_contents(runner, &private)?;
        let base = format!("^{}", clone.record.base);
        let mut words = vec!["bundle", "create", "--quiet", text];
        words.extend(names.iter().map(String::as_str));
        // A bundle of nothing is refused, so one that has only what the clone began with has all of its history.
        if private.commit_of(DISCARDED)? != clone.record.base || names.len() > 1 {
            words.push(&base);
        }
        private.ask(&words)?;
        fs::File::open(&path).and_then(|file| file.sync_all()).map_err(io("write", &path))?;
        fs::File::open(root).and_then(|file| file.sync_all()).map_err(io("write", root))?;
        Ok(path)
    }
}

fn bundle_path(root: &Path, record: &WorktreeRecord, mark: &Id<Attempt>) -> PathBuf {
    // The last characters of an id are the random ones.
    let mark = mark.as_str();
    let end = &mark[mark.len().saturating_sub(MARK_LENGTH)..];
    root.join(format!("{}.{end}.{BUNDLE}", record.task_id))
}

impl Worktree {
    /// An interrupted merge is undone first: its record lists the files of the workspace to restore.
    fn refuse_busy(&self) -> Result<(), WorktreeError> {
        if self.underway.is_some() {
            return Err(WorktreeError::Underway(self.record.run_id.to_string()));
        }
        if self.is_unfinished && self.hold()?.is_none() {
            return Err(WorktreeError::BeingMade);
        }
        Ok(())
    }

    fn contents(&self, runner: &Runner<'_>) -> Result<CloneContents, WorktreeError> {
        // With a list of files of its own, as a comparison has.
        let list = self.git_dir().join(format!("index.{}", runner.mark));
        copy_index(&self.git_dir().join("index"), &list).map_err(io("copy", &list))?;
        let tree = self.tree_now(&self.private(runner).with_index(&list));
        fs::remove_file(&list).map_err(io("remove", &list))?;
        let mut tips = self.own_tips()?;
        tips.push(self.private(runner).commit_of(RESULT)?);
        tips.sort();
        tips.dedup();
        Ok(CloneContents { tree: tree?, tips })
    }

    fn loss(&self, runner: &Runner<'_>) -> Result<Loss, WorktreeError> {
        let CloneContents { tree, tips } = self.contents(runner)?;
        let workspace = Repo::workspace(runner, self.record.workspace.as_ref())?;
        let head = workspace.commit_of("HEAD")?;
        let private = self.private(runner);
        let mut reached = Vec::new();
        for tip in &tips {
            reached.extend(private.commit_if_any(tip)?);
        }
        let except = format!("^{head}");
        let count = format!("--max-count={}", limits::DISCARDED_LISTED_MAX);
        let mut words = vec!["log", "--no-show-signature", "--format=%h %s", &count];
        words.extend(reached.iter().map(String::as_str).chain([except.as_str(), "--"]));
        let printed = private.ask(&words)?;
        let commits = String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect();
        let mut words = vec!["rev-list", "--count"];
        words.extend(reached.iter().map(String::as_str).chain([except.as_str(), "--"]));
        let counted = private.line(&words)?;
        let all_commits = counted.parse().map_err(|_| WorktreeError::Uncounted(counted))?;
        let base = private.line(&["merge-base", &head, ONTO]).unwrap_or_else(|_| self.record.base.clone());
        let changed = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &base, &tree, "--"];
        let printed = private.ask(&changed)?;
        let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let mut files: Vec<String> = paths.map(contract::domain::rollback::text).collect();
        let all_files = files.len();
        files.truncate(limits::DISCARDED_LISTED_MAX);
        Ok(Loss { tree: Some(tree), tips, commits, all_commits, files, all_files, cannot_keep: None })
    }

    /// Gives everything in the clone a name in writ's own repository: first its files, then what its references name.
    fn name_contents(&self, runner: &Runner<'_>, private: &Repo<'_>) -> Result<Vec<String>, WorktreeError> {
        let CloneContents { tree, tips } = self.contents(runner)?;
        let onto = private.commit_of(ONTO)?;
        let parents = self.parents(private, &onto)?;
        let is_committed = parents.len() == 1 && private.tree_of(&parents[0])? == tree;
        let commit = if is_committed {
            parents[0].clone()
        } else {
            let message = format!("{}: discarded", self.record.name);
            let mut words = vec!["commit-tree", "-m", &message];
            words.extend(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
            words.push(&tree);
            let email = format!("{COMMITTER}@writ.invalid");
            let by = [("GIT_AUTHOR_NAME", COMMITTER), ("GIT_AUTHOR_EMAIL", email.as_str())];
            let printed = private.ask_with(&words, &by, Stdin::Closed)?;
            String::from_utf8_lossy(&printed).trim().to_owned()
        };
        private.ask(&["update-ref", DISCARDED, &commit])?;
        let mut names = vec![DISCARDED.to_owned()];
        for (number, tip) in tips.iter().enumerate() {
            let is_reached = match private.commit_if_any(tip)? {
                Some(reached) => {
                    private.is_ancestor(&reached, &commit)?
                        || private.is_ancestor(&reached, &self.record.base)?
                }
                None => false,
            };
            if !is_reached {
                let name = format!("{OTHERS}/{number}");
                private.ask(&["update-ref", &name, tip])?;
                names.push(name);
            }
        }
        Ok(names)
    }
}
