//! Gives a clone the files back that it had before an attempt which was interrupted.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{ONTO, RESULT, Worktree, WorktreeError, io};
use crate::git::{Repo, Runner};
use crate::supervisor::Stdin;

/// What `ONTO`, `RESULT` and the clone's own HEAD were before the attempt that began last. The first attempt begins with
/// the commit that the clone was made of.
const ONTO_BEFORE: &str = "refs/heads/before-onto";
const RESULT_BEFORE: &str = "refs/heads/before-result";
const OWN_BEFORE: &str = "refs/heads/before-own";

impl Worktree {
    /// Notes what the clone has, before an attempt after the first one begins.
    pub fn note_before(&self, runner: &Runner<'_>) -> Result<(), WorktreeError> {
        let private = self.private(runner);
        let (onto, result) = (private.commit_of(ONTO)?, private.commit_of(RESULT)?);
        let own = self.own_head().and_then(|own| private.commit_of(&own).ok());
        let own = own.unwrap_or_else(|| self.record.base.clone());
        let updates = [(ONTO_BEFORE, onto), (RESULT_BEFORE, result), (OWN_BEFORE, own)];
        update(&private, &updates)
    }

    /// Gives the clone the files, and its branch the commit, that they had before the last attempt. Returns how many files
    /// differed. What git ignores stays, and setup commands run again. A restoration that is killed is taken back when the
    /// clone is opened again.
    pub fn restore(&mut self, runner: &Runner<'_>) -> Result<usize, WorktreeError> {
        self.refuse_moved()?;
        let private = self.private(runner);
        let before = |name: &str| private.commit_of(name).unwrap_or_else(|_| self.record.base.clone());
        let [onto, result, own] = [ONTO_BEFORE, RESULT_BEFORE, OWN_BEFORE].map(before);
        // Checks may have left files since the list was made.
        let there = self.tree_now(&private)?;
        let words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &there, &onto, "--"];
        let differing = private.ask(&words)?.split(|byte| *byte == 0).filter(|name| !name.is_empty()).count();
        self.begin_moving(&there, &onto)?;
        private.ask(&["read-tree", "--reset", "-u", &onto])?;
        self.reset_own(runner, &own)?;
        update(&private, &[(ONTO, onto), (RESULT, result)])?;
        self.end_moving()?;
        self.set_up(0)?;
        Ok(differing)
    }

    /// Brings the clone's own branch and list of files to a commit, without a git that reads the clone's configuration.
    fn reset_own(&self, runner: &Runner<'_>, commit: &str) -> Result<(), WorktreeError> {
        let git = self.tree().join(".git");
        // References that are symbolic links would lead elsewhere.
        self.own_refs()?;
        if git.join("refs").is_symlink() {
            return Err(WorktreeError::Damaged("refs in the clone is a symbolic link".to_owned()));
        }
        let branch = format!("refs/heads/{}", self.branch());
        for name in ["index.lock", "HEAD.lock", &format!("{branch}.lock"), "index"] {
            remove(&git.join(name))?;
        }
        replace(&git.join(&branch), &format!("{commit}\n"))?;
        replace(&git.join("HEAD"), &format!("ref: {branch}\n"))?;
        self.private(runner).with_index(&git.join("index")).ask(&["read-tree", commit])?;
        Ok(())
    }
}

fn update(private: &Repo<'_>, updates: &[(&str, String)]) -> Result<(), WorktreeError> {
    let lines: String = updates.iter().map(|(name, commit)| format!("update {name} {commit}\n")).collect();
    private.ask_with(&["update-ref", "--stdin"], &[], Stdin::Bytes(lines.into_bytes()))?;
    Ok(())
}

fn remove(path: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes a small file of the clone's repository as a whole, whatever was in its place.
fn replace(path: &Path, text: &str) -> Result<(), WorktreeError> {
    let new = path.with_extension("writ-new");
    let write = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::remove_file(&new).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        fs::write(&new, text)?;
        fs::rename(&new, path)
    };
    write().map_err(io("write", path))
}
