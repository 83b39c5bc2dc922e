//! Brings the work of a task together with what the workspace has by now, and lands it there.

use std::fs::{self, File};

use contract::domain::limits;
use contract::domain::worktree::{ConflictSide, MergeConflict};

use super::keep::CloneLock;
use super::landing::LandingResult;
use super::tip::Author;
use super::{Landed, Landing, MERGED, ONTO, RESULT, Worktree, WorktreeError, Worktrees, io};
use crate::git;
use crate::git::{Repo, Runner, names};
use crate::regular_file;
use crate::supervisor::{ProcessExit, Stdin};

/// In writ's own repository: between which trees the files of the clone are being changed.
const MOVING: &str = "moving";
const MOVING_BYTES_MAX: usize = 1024;

/// Git's messages for files it would overwrite. Other failures are not conflicts.
const OVERWRITES: &[&str] = &[
    "would be overwritten by merge",
    "would be removed by merge",
    "not uptodate. Cannot merge",
    "would lose untracked files in it",
];

/// The work of a task on top of what the workspace had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate {
    /// The workspace's commit.
    pub onto: String,
    /// What the task did.
    pub result: String,
    /// Both together. The same as `onto` if the task added nothing.
    pub merged: String,
    /// What changes in the workspace.
    pub paths: Vec<String>,
}

/// Whether the work of a task fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    Fits(MergeCandidate),
    Conflict(Box<MergeConflict>),
}

impl Worktree {
    /// Commits what the task left and merges it, in writ's own repository, with what the workspace has. If that fits, the
    /// clone has the merged files afterwards, so that checks see what will be there.
    pub fn bring_together(&self, runner: &Runner<'_>, author: &Author<'_>) -> Result<Trial, WorktreeError> {
        let result = self.tip(runner, author)?;
        self.put_onto(runner, &result, author)
    }

    /// The same for work that is committed already, after the workspace moved on.
    pub fn bring_again(&self, runner: &Runner<'_>, author: &Author<'_>) -> Result<Trial, WorktreeError> {
        let result = self.private(runner).commit_of(RESULT)?;
        self.put_onto(runner, &result, author)
    }

    fn put_onto(
        &self,
        runner: &Runner<'_>,
        result: &str,
        author: &Author<'_>,
    ) -> Result<Trial, WorktreeError> {
        let private = self.private(runner);
        let onto = Repo::workspace(runner, self.record.workspace.as_ref())?.commit_of("HEAD")?;
        let trial = self.trial(&private, &onto, result, author)?;
        let Trial::Fits(candidate) = &trial else { return Ok(trial) };
        let there = private.line(&["write-tree"])?;
        if private.tree_of(&candidate.merged)? != there {
            self.begin_moving(&there, &candidate.merged)?;
            let put = put_files(&private, &there, &candidate.merged);
            match put {
                Ok(MergePut::Done) => {}
                Ok(MergePut::Refused(problem)) => {
                    self.end_moving()?;
                    let conflict = self.conflict(&private, (&onto, result), Vec::new(), Some(problem));
                    return conflict.map(Trial::Conflict);
                }
                Err(fault) => {
                    // What cannot be moved back now is when the clone is opened again.
                    self.move_back(runner).ok();
                    return Err(fault);
                }
            }
        }
        private.ask(&["update-ref", ONTO, &candidate.merged])?;
        private.ask(&["update-ref", MERGED, &candidate.merged])?;
        self.end_moving()?;
        Ok(trial)
    }

    /// Gives the clone the files back that it had before a merge that was interrupted: some may be cut short, and would
    /// count as the task's.
    pub(super) fn move_back(&self, runner: &Runner<'_>) -> Result<(), WorktreeError> {
        let Ok(moving) = regular_file::read(&self.git_dir().join(MOVING), MOVING_BYTES_MAX) else {
            return Ok(());
        };
        let moving = String::from_utf8_lossy(&moving);
        if let Some((there, merged)) = moving.split_once(' ') {
            let private = self.private(runner);
            // First the names of all files that may have come.
            private.ask(&["read-tree", "--reset", merged])?;
            private.ask(&["read-tree", "--reset", "-u", there])?;
        }
        self.end_moving()
    }

    /// Notes between which trees the files of the clone are about to change.
    pub(super) fn begin_moving(&self, there: &str, to: &str) -> Result<(), WorktreeError> {
        let moving = self.git_dir().join(MOVING);
        fs::write(&moving, format!("{there} {to}")).map_err(io("write", &moving))
    }

    pub(super) fn end_moving(&self) -> Result<(), WorktreeError> {
        let path = self.git_dir().join(MOVING);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Merges two commits without touching a file.
    fn trial(
        &self,
        private: &Repo<'_>,
        onto: &str,
        result: &str,
        author: &Author<'_>,
    ) -> Result<Trial, WorktreeError> {
        let merged = if private.is_ancestor(result, onto)? {
            onto.to_owned()
        } else {
            let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", onto, result];
            let answered = private.run(&words, &[], Stdin::Closed)?;
            let printed = names(&answered.printed)?;
            match (answered.exit, printed.split_first()) {
                (ProcessExit::Code(0), Some((tree, _))) => {
                    let words = ["commit-tree", "-p", onto, "-p", result, "-m", author.message, tree];
                    private.line(&words)?
                }
                (ProcessExit::Code(1), Some((_, paths))) => {
                    return self.conflict(private, (onto, result), paths.to_vec(), None).map(Trial::Conflict);
                }
                _ => {
                    let said = String::from_utf8_lossy(&answered.complaint);
                    return Err(git::GitError::Failed(format!("git merge-tree: {}", said.trim())).into());
                }
            }
        };
        let words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", onto, &merged, "--"];
        let paths = private.names(&words)?;
        Ok(Trial::Fits(MergeCandidate { onto: onto.to_owned(), result: result.to_owned(), merged, paths }))
    }

    /// Whether the workspace is still at the commit that the work was merged with.
    pub fn is_still_on(
        &self,
        runner: &Runner<'_>,
        candidate: &MergeCandidate,
    ) -> Result<bool, WorktreeError> {
        let workspace = Repo::workspace(runner, self.record.workspace.as_ref())?;
        Ok(workspace.commit_of("HEAD")? == candidate.onto)
    }

    /// Why what the task committed last cannot be merged into what the workspace has. Changes nothing.
    pub fn conflict_now(&self, runner: &Runner<'_>) -> Result<Option<MergeConflict>, WorktreeError> {
        let private = self.private(runner);
        let onto = Repo::workspace(runner, self.record.workspace.as_ref())?.commit_of("HEAD")?;
        let result = private.commit_of(RESULT)?;
        let author = Author { name: "writ", message: "trial" };
        Ok(match self.trial(&private, &onto, &result, &author)? {
            Trial::Fits(_) => None,
            Trial::Conflict(conflict) => Some(*conflict),
        })
    }

    fn conflict(
        &self,
        private: &Repo<'_>,
        (onto, result): (&str, &str),
        mut paths: Vec<String>,
        problem: Option<String>,
    ) -> Result<Box<MergeConflict>, WorktreeError> {
        paths.sort();
        paths.dedup();
        let more_paths = paths.len().saturating_sub(limits::CONFLICT_PATHS_MAX);
        paths.truncate(limits::CONFLICT_PATHS_MAX);
        let by = self.changed_by(private, onto, &paths)?;
        let own = format!("`{}` of {}", self.record.name, self.record.run_id);
        Ok(Box::new(MergeConflict {
            ours: ConflictSide { at: "HEAD".to_owned(), commit: onto.to_owned(), by },
            theirs: ConflictSide { at: self.reference(), commit: result.to_owned(), by: vec![own] },
            paths,
            more_paths,
            problem,
        }))
    }

    /// Who changed these paths in the workspace since the clone was made: tasks by their names, others by their commits.
    fn changed_by(
        &self,
        private: &Repo<'_>,
        onto: &str,
        paths: &[String],
    ) -> Result<Vec<String>, WorktreeError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let range = format!("{}..{onto}", self.record.base);
        let most = format!("--max-count={}", limits::CONFLICT_COMMITS_MAX);
        let format = "--format=%(trailers:key=Writ-Task,valueonly,separator=%x2C)%x1f%h %s";
        let mut words =
            vec!["log", "-z", "--first-parent", "--no-show-signature", &most, format, &range, "--"];
        words.extend(paths.iter().map(String::as_str));
        let mut found: Vec<String> = Vec::new();
        for entry in private.names(&words)? {
            let (task, commit) = entry.split_once('\u{1f}').unwrap_or(("", &entry));
            let name = if task.is_empty() { format!("commit {commit}") } else { format!("`{task}`") };
            if !found.contains(&name) {
                found.push(name);
            }
        }
        Ok(found)
    }
}

/// Work that can be put into the workspace: the merge lock is held, and its commits are there.
pub struct PreparedMerge<'g> {
    _lock: File,
    runner: &'g Runner<'g>,
    workspace: Repo<'g>,
    candidate: MergeCandidate,
}

impl Worktrees {
    /// Prepares the merge: everything that takes long, and nothing that shows in the workspace. `None` if the workspace
    /// moved on.
    pub fn prepare<'g>(
        &self,
        runner: &'g Runner<'g>,
        clone: &Worktree,
        candidate: &MergeCandidate,
    ) -> Result<Option<PreparedMerge<'g>>, WorktreeError> {
        let lock = self.lock(runner, &CloneLock::Merge(&clone.record.workspace))?;
        self.settle_locked(runner, &clone.record.workspace)?;
        let workspace = Repo::workspace(runner, clone.record.workspace.as_ref())?;
        if workspace.commit_of("HEAD")? != candidate.onto {
            return Ok(None);
        }
        clone.fetch(&workspace, &[MERGED])?;
        Ok(Some(PreparedMerge { _lock: lock, runner, workspace, candidate: candidate.clone() }))
    }
}

impl PreparedMerge<'_> {
    /// Puts the merged work into the workspace: its branch, and the files that differ. A person's uncommitted edits are
    /// never overwritten: they are a conflict.
    pub fn land(self, clone: &mut Worktree) -> Result<Landing, WorktreeError> {
        let Self { runner, workspace, candidate, .. } = &self;
        let private = clone.private(runner);
        let MergeCandidate { onto, result, merged, .. } = candidate;
        if merged != onto {
            let (problem, paths) = match clone.change_workspace(runner, workspace, (onto, merged))? {
                LandingResult::Landed => (None, Vec::new()),
                LandingResult::Moved => return Ok(Landing::Moved),
                LandingResult::InTheWay(paths) => (Some(in_the_way(&paths)), paths),
                LandingResult::Staged(said) => {
                    let said = said.trim_start_matches("git read-tree: ").trim_start_matches("error: ");
                    (Some(format!("the workspace has staged changes: {said}")), Vec::new())
                }
            };
            if problem.is_some() {
                let conflict = clone.conflict(&private, (onto, result), paths, problem)?;
                return Ok(Landing::Conflict(conflict));
            }
        }
        // Checks may have left files, which are no part of the work.
        let tree = clone.tree_now(&private)?;
        clone.landed = Some(Landed { commit: merged.clone(), tree });
        clone.record.ports = None;
        clone.write()?;
        Ok(Landing::Landed)
    }
}

impl Worktree {
    /// Keeps what the task did in the workspace's repository, so that it is there whatever becomes of the clone.
    pub fn keep_result(&self, runner: &Runner<'_>) -> Result<(), WorktreeError> {
        let workspace = Repo::workspace(runner, self.record.workspace.as_ref())?;
        self.fetch(&workspace, &[])
    }

    fn fetch(&self, workspace: &Repo<'_>, more: &[&str]) -> Result<(), WorktreeError> {
        let git = self.git_dir();
        let from = git.to_str().ok_or(WorktreeError::NotText)?;
        let kept = format!("+{RESULT}:{}", self.reference());
        let mut words = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"];
        // The workspace's configuration could name another program for this path.
        words.extend(["--upload-pack=git-upload-pack", "--no-recurse-submodules", "--", from, kept.as_str()]);
        words.extend(more);
        workspace.ask(&words)?;
        Ok(())
    }
}

/// Paths that a reason names.
const NAMED_MAX: usize = 5;

fn in_the_way(paths: &[String]) -> String {
    let named = paths.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<&str>>().join(", ");
    let more = paths.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it would overwrite changes that are not committed, or files that are not tracked: {named}{more}")
}

/// Whether files were changed.
enum MergePut {
    Done,
    /// They would overwrite something else, as git said.
    Refused(String),
}

/// Changes the index and the files of a repository from one tree to another, only where they differ.
fn put_files(repo: &Repo<'_>, from: &str, to: &str) -> Result<MergePut, WorktreeError> {
    match repo.ask_patiently(&["read-tree", "-m", "-u", from, to]) {
        Ok(_) => Ok(MergePut::Done),
        Err(git::GitError::Failed(said)) if is_refusal(&said) => {
            Ok(MergePut::Refused(said.trim_start_matches("git read-tree: error: ").to_owned()))
        }
        Err(fault) => Err(fault.into()),
    }
}

/// Whether git did nothing, because it would overwrite something.
pub(super) fn is_refusal(said: &str) -> bool {
    OVERWRITES.iter().any(|words| said.contains(words))
}
