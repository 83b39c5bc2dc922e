//! What a task left in its clone, as one commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use contract::domain::limits;
use contract::domain::rollback::text as shown;

use super::{ONTO, RESULT, Worktree, WorktreeError};
use crate::git::{Repo, Runner};
use crate::regular_file;
use crate::supervisor::Stdin;

/// A reference or an id is one short line.
const REF_BYTES_MAX: usize = 4096;
const PACKED_REFS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Who made the changes.
pub struct Author<'a> {
    pub name: &'a str,
    pub message: &'a str,
}

impl Worktree {
    /// Commits what is in the clone beside what the task committed itself. Returns the commit, which is the one that the
    /// clone began with if nothing changed.
    pub(super) fn tip(&self, runner: &Runner<'_>, author: &Author<'_>) -> Result<String, WorktreeError> {
        self.refuse_moved()?;
        let private = self.private(runner);
        let onto = private.commit_of(ONTO)?;
        let parents = self.parents(&private, &onto)?;
        private.ask(&["read-tree", "--reset", &parents[0]])?;
        let tree = self.tree_now(&private)?;
        let last = private.commit_of(RESULT)?;
        let is_unchanged = parents.len() == 1 && private.tree_of(&parents[0])? == tree;
        let commit = if is_unchanged && parents[0] == onto && private.is_ancestor(&last, &onto)? {
            // Nothing but what a merge put there, which the last commit is part of.
            last
        } else if is_unchanged {
            parents[0].clone()
        } else if private.tree_of(&last)? == tree && rests_on(&private, &last, &parents)? {
            // Nothing changed since, and it may have been merged by this name.
            last
        } else {
            let mut words = vec!["commit-tree", "-m", author.message];
            words.extend(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
            words.push(&tree);
            let email = format!("{}@writ.invalid", author.name);
            let by = [("GIT_AUTHOR_NAME", author.name), ("GIT_AUTHOR_EMAIL", email.as_str())];
            let printed = private.ask_with(&words, &by, Stdin::Closed)?;
            String::from_utf8_lossy(&printed).trim().to_owned()
        };
        self.refuse_nested(&private, &onto, &commit)?;
        private.ask(&["update-ref", RESULT, &commit])?;
        Ok(commit)
    }

    /// The tree of the files that are in the clone now, those that are ignored left out.
    pub(super) fn tree_now(&self, private: &Repo<'_>) -> Result<String, WorktreeError> {
        // So that files that were only touched, or are new to this list, do not count as changed.
        private.refresh()?;
        let changed =
            ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard", "--", "."];
        let printed = private.ask(&changed)?;
        let paths: Vec<&[u8]> = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
        if let Some(nested) = paths.iter().find(|path| path.ends_with(b"/")) {
            return Err(WorktreeError::Nested(shown(nested)));
        }
        let listed: BTreeSet<&[u8]> = paths.iter().copied().collect();
        let mut paths: Vec<&[u8]> =
            paths.into_iter().filter(|path| !self.is_below_file(&listed, path)).collect();
        // A file that became a directory is removed before the files in it come.
        paths.sort_by_key(|path| !self.is_directory(path));
        let bytes: Vec<u8> = paths.into_iter().flat_map(|path| [path, b"\0"].concat()).collect();
        if !bytes.is_empty() {
            // What takes the place of a directory, or of a file, takes its entries away.
            let words = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            private.ask_with(&words, &[], Stdin::Bytes(bytes))?;
        }
        Ok(private.line(&["write-tree"])?)
    }

    /// Whether a file or a link that is listed took the place of a directory above this path.
    fn is_below_file(&self, listed: &BTreeSet<&[u8]>, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.map(|end| &path[..end]).any(|above| listed.contains(above) && !self.is_directory(above))
    }

    fn is_directory(&self, path: &[u8]) -> bool {
        self.tree().join(OsStr::from_bytes(path)).symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    /// The commits that the files of the clone rest on: what was put there, and what the task committed itself.
    pub(super) fn parents(&self, private: &Repo<'_>, onto: &str) -> Result<Vec<String>, WorktreeError> {
        let own = self.own_head().and_then(|own| private.commit_of(&own).ok());
        let Some(own) = own else { return Ok(vec![onto.to_owned()]) };
        if private.is_ancestor(&own, onto)? {
            return Ok(vec![onto.to_owned()]);
        }
        if private.is_ancestor(onto, &own)? {
            return Ok(vec![own]);
        }
        // A task that went back behind what it was given, or to something unrelated, has only its files.
        if private.is_ancestor(&self.record.base, &own)? {
            return Ok(vec![own, onto.to_owned()]);
        }
        Ok(vec![onto.to_owned()])
    }

    /// The commit that the clone's HEAD names, read without git: nothing that the task configured has a say.
    pub(super) fn own_head(&self) -> Option<String> {
        let git = self.tree().join(".git");
        let head = line(&git.join("HEAD"))?;
        match head.strip_prefix("ref: ") {
            None => is_id(&head).then_some(head),
            Some(name) => {
                let refs = self.own_refs().ok()?;
                refs.into_iter().find(|(known, _)| known == name).map(|(_, id)| id)
            }
        }
    }

    /// Everything that the clone's references and HEADs name, by its id: its own HEAD, and those of working trees that the task
    /// added.
    pub(super) fn own_tips(&self) -> Result<Vec<String>, WorktreeError> {
        let mut tips: Vec<String> = self.own_refs()?.into_iter().map(|(_, id)| id).collect();
        let git = self.tree().join(".git");
        let added = super::entries(&git.join("worktrees"))?;
        for directory in [git].into_iter().chain(added) {
            let head = line(&directory.join("HEAD"));
            let head =
                head.ok_or_else(|| WorktreeError::Damaged("a HEAD of the clone cannot be read".to_owned()))?;
            if is_id(&head) {
                tips.push(head);
            }
        }
        Ok(tips)
    }

    /// Every reference of the clone and its commit. An error if they cannot be read, or are too many.
    pub(super) fn own_refs(&self) -> Result<Vec<(String, String)>, WorktreeError> {
        let git = self.tree().join(".git");
        if !git.join("HEAD").is_file() || git.join("reftable").exists() {
            return Err(WorktreeError::Damaged("the clone's references cannot be read".to_owned()));
        }
        let mut found = Vec::new();
        loose(&git, "refs", &mut found)?;
        let packed = git.join("packed-refs");
        let packed = match regular_file::read(&packed, PACKED_REFS_BYTES_MAX) {
            Ok(bytes) if bytes.len() < PACKED_REFS_BYTES_MAX => bytes,
            Ok(_) => return Err(WorktreeError::Damaged("the clone has too many references".to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(super::io("read", &packed)(error)),
        };
        for entry in String::from_utf8_lossy(&packed).lines() {
            if let Some((id, name)) = entry.split_once(' ').filter(|(id, _)| is_id(id))
                && !found.iter().any(|(known, _)| known == name)
            {
                found.push((name.to_owned(), id.to_owned()));
            }
        }
        if found.len() > limits::WORKTREE_REFS_MAX {
            return Err(WorktreeError::Damaged("the clone has too many references".to_owned()));
        }
        Ok(found)
    }

    /// A repository inside the clone would be merged as a link to a missing commit.
    fn refuse_nested(&self, private: &Repo<'_>, before: &str, after: &str) -> Result<(), WorktreeError> {
        let words = ["diff-tree", "-r", "-z", "--raw", "--no-renames", before, after, "--"];
        let printed = private.names(&words)?;
        let mut fields = printed.iter();
        while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
            if modes.split(' ').nth(1) == Some("160000") {
                return Err(WorktreeError::Nested(path.clone()));
            }
        }
        Ok(())
    }
}

fn rests_on(private: &Repo<'_>, commit: &str, parents: &[String]) -> Result<bool, WorktreeError> {
    for parent in parents {
        if !private.is_ancestor(parent, commit)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn loose(git: &Path, name: &str, found: &mut Vec<(String, String)>) -> Result<(), WorktreeError> {
    for path in super::entries(&git.join(name))? {
        let last = path.file_name().and_then(|last| last.to_str()).ok_or(WorktreeError::NotText)?;
        let inner = format!("{name}/{last}");
        if found.len() > limits::WORKTREE_REFS_MAX {
            break;
        }
        if path.is_symlink() {
            return Err(WorktreeError::Damaged(format!("{inner} in the clone is a symbolic link")));
        }
        if path.is_dir() {
            loose(git, &inner, found)?;
        } else {
            let text = line(&path)
                .ok_or_else(|| WorktreeError::Damaged(format!("{inner} in the clone cannot be read")))?;
            // Any other names another reference.
            if is_id(&text) {
                found.push((inner, text));
            }
        }
    }
    Ok(())
}

fn line(path: &Path) -> Option<String> {
    let bytes = regular_file::read(path, REF_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok().map(|text| text.trim_end().to_owned())
}

fn is_id(text: &str) -> bool {
    (text.len() == 40 || text.len() == 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
