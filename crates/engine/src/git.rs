//! Asks git what changed in a workspace, and has it keep what tracked files are.

mod runner;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use contract::domain::limits;

pub use runner::{GitError, Runner};
pub(crate) use runner::{Repo, copy_index, names};

use crate::supervisor::Stdin;

/// Where git is asked.
pub struct Git<'g> {
    pub runner: Runner<'g>,
    pub workspace: &'g Path,
}

/// Git would start itself in submodules, with their configuration.
const NOT_IN_SUBMODULES: &str = "--ignore-submodules=dirty";

impl Git<'_> {
    /// Files that differ from `tree`, deleted and untracked ones included, as seen from the workspace. A submodule with such
    /// files is named itself.
    pub fn changed(&self, tree: &str) -> Result<Vec<String>, GitError> {
        let repo = self.repo()?;
        let mut files: BTreeSet<String> = differing(&repo, tree)?.into_iter().collect();
        let mut pending: Vec<(String, PathBuf)> = self.submodules(&repo, self.workspace)?;
        pending.iter_mut().for_each(|(name, path)| *name = name_of(self.workspace, path));
        let mut seen = 0;
        while let Some((name, directory)) = pending.pop() {
            seen += 1;
            if seen > limits::SUBMODULES_MAX {
                let limit = limits::SUBMODULES_MAX;
                return Err(GitError::Failed(format!(
                    "there are more than {limit} submodules (SUBMODULES_MAX)"
                )));
            }
            let inner = Repo::around(&self.runner, &directory)?;
            if !differing(&inner, "HEAD")?.is_empty() {
                files.insert(name.clone());
            }
            let inside = self.submodules(&inner, &directory)?;
            pending.extend(inside.into_iter().map(|(_, path)| (name.clone(), path)));
        }
        Ok(files.into_iter().collect())
    }

    /// The id of the one tree that a revision names. A range would compare two commits and leave out the working tree.
    pub fn tree_of(&self, revision: &str) -> Result<String, GitError> {
        let refused =
            || GitError::Failed(format!("`{}` does not name one commit or tree", revision.escape_debug()));
        if revision.is_empty() || revision.starts_with(['-', '^']) || revision.contains(char::is_control) {
            return Err(refused());
        }
        self.repo()?.tree_of(revision).map_err(|_| refused())
    }

    /// The branch that is checked out. An error if there is none, or no repository.
    pub fn branch(&self) -> Result<String, GitError> {
        self.repo()?.line(&["symbolic-ref", "--short", "HEAD"])
    }

    /// What a path is, as a patch against HEAD.
    pub fn patch(&self, path: &str) -> Result<Vec<u8>, GitError> {
        let quiet = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
        let words = [&["diff", "--binary"], &quiet[..], &["HEAD", "--", path]].concat();
        self.repo()?.ask(&words)
    }

    /// Adds a stash entry with what the tracked files are. They stay as they are. `None` if none of them differs from HEAD.
    /// `git stash` would start git in submodules, so its commits are made here.
    pub fn stash(&self, message: &str) -> Result<Option<String>, GitError> {
        let repo = self.repo()?;
        let head = repo.commit_of("HEAD")?;
        let place = |name: &str| repo.line(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        let (index, list) = (place("index")?, place(&format!("writ-stash.{}", self.runner.mark))?);
        let failed = |error: std::io::Error| GitError::Failed(format!("could not copy {index}: {error}"));
        copy_index(Path::new(&index), Path::new(&list)).map_err(failed)?;
        let stashed = self.stash_with(&self.repo()?.with_index(Path::new(&list)), &head, message);
        // Its name is unique, so a leftover conflicts with nothing.
        fs::remove_file(&list).ok();
        let Some(commit) = stashed? else { return Ok(None) };
        repo.ask(&["stash", "store", "--quiet", "-m", message, &commit])?;
        Ok(Some(commit))
    }

    fn stash_with(&self, repo: &Repo<'_>, head: &str, message: &str) -> Result<Option<String>, GitError> {
        let staged = repo.line(&["write-tree"])?;
        repo.refresh()?;
        let changed = repo.ask(&["ls-files", "-z", "--modified", "--deleted", "--", ":/"])?;
        if !changed.is_empty() {
            // The paths are seen from here.
            repo.ask_with(
                &["update-index", "-z", "--add", "--remove", "--stdin"],
                &[],
                Stdin::Bytes(changed),
            )?;
        }
        let files = repo.line(&["write-tree"])?;
        let known = repo.tree_of(head)?;
        if staged == known && files == known {
            return Ok(None);
        }
        let index = repo.line(&["commit-tree", "-p", head, "-m", &format!("index: {message}"), &staged])?;
        repo.line(&["commit-tree", "-p", head, "-p", &index, "-m", message, &files]).map(Some)
    }

    fn repo(&self) -> Result<Repo<'_>, GitError> {
        Repo::around(&self.runner, self.workspace)
    }

    /// The submodules that are there: their names and their places.
    fn submodules(&self, repo: &Repo<'_>, directory: &Path) -> Result<Vec<(String, PathBuf)>, GitError> {
        let listed = repo.names(&["ls-files", "--stage", "-z"])?;
        let links = listed.iter().filter_map(|line| line.strip_prefix("160000 ")?.split_once('\t'));
        let places = links.map(|(_, name)| (name.to_owned(), directory.join(name)));
        Ok(places.filter(|(_, path)| path.join(".git").exists()).collect())
    }
}

fn name_of(workspace: &Path, path: &Path) -> String {
    path.strip_prefix(workspace).unwrap_or(path).to_string_lossy().into_owned()
}

/// Files that differ from a tree, and untracked ones, without those in submodules.
fn differing(repo: &Repo<'_>, tree: &str) -> Result<Vec<String>, GitError> {
    let words = ["diff", "--name-only", "--no-renames", "--no-ext-diff", NOT_IN_SUBMODULES];
    let differing = [&words[..], &["--relative", "-z", tree, "--"]].concat();
    let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
    let mut files = Vec::new();
    for words in [&differing[..], &untracked[..]] {
        let printed = repo.ask(words)?;
        let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        files.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    Ok(files)
}
