//! The snapshot strategies of an AOP TASK, besides the snapshot that writ takes: a copy, a patch or a stash entry.

use std::path::Path;

use contract::aop::task::{RollbackSnapshot, SnapshotStrategy, Task};
use contract::domain::id::{Attempt, Id};
use contract::domain::scope::Scope;

use super::Dispatcher;
use crate::git::Git;
use crate::snapshots::copy_inside;

impl Dispatcher<'_> {
    /// Applies the `snapshot_strategy` of each output of the TASK. Returns what was done, and what has no effect and why.
    pub(super) fn apply_snapshot_strategies(&self, task: usize, attempt: &Id<Attempt>) -> Vec<String> {
        let Some(document) = self.part(task).spec.aop.as_ref().filter(|_| self.part(task).spec.rollback)
        else {
            return Vec::new();
        };
        let Ok(document) = serde_json::from_value::<Task>(document.clone()) else { return Vec::new() };
        let root = Path::new(&self.run.asked.workspace);
        let git = Git { runner: self.runner(attempt), workspace: root };
        let mut notes = Vec::new();
        let mut is_stashed = false;
        for (path, asked) in contract::intake::snapshots(&document) {
            match asked.snapshot_strategy.unwrap_or(SnapshotStrategy::Copy) {
                SnapshotStrategy::Copy => notes.extend(copied(root, path, asked)),
                SnapshotStrategy::Diff => notes.push(patched(&git, root, path, asked)),
                SnapshotStrategy::GitStash if is_stashed => {}
                SnapshotStrategy::GitStash => {
                    is_stashed = true;
                    notes.push(stashed(&git, &self.part(task).spec.id));
                }
                SnapshotStrategy::None => {}
            }
        }
        notes
    }
}

/// The output and the place for its snapshot, both seen from the workspace.
fn places(root: &Path, path: Option<&str>, asked: &RollbackSnapshot) -> Result<(String, String), String> {
    let root = root.to_str().ok_or("the workspace's path is not UTF-8")?;
    let inside = |text: &str| match Scope::parse(text, Some(root)) {
        Ok(scope) => Ok(scope.as_str().to_owned()),
        Err(fault) => Err(format!("`{text}` {fault}")),
    };
    let path = path.ok_or("the output has no path")?;
    let to = asked.snapshot_path.as_deref().ok_or("it has no snapshot_path")?;
    Ok((inside(path)?, inside(to)?))
}

fn copied(root: &Path, path: Option<&str>, asked: &RollbackSnapshot) -> Option<String> {
    asked.snapshot_path.as_ref()?;
    let done = places(root, path, asked).and_then(|(path, to)| {
        let copied = copy_inside(root, path.as_bytes(), to.as_bytes());
        copied.map(|is| (is, path, to)).map_err(|error| error.to_string())
    });
    Some(match done {
        Ok((true, path, to)) => format!("COPY: {path} was copied to {to}"),
        Ok((false, path, _)) => format!("COPY: {path} did not exist, so there is no copy"),
        Err(why) => format!("COPY has no effect: {why}"),
    })
}

fn patched(git: &Git<'_>, root: &Path, path: Option<&str>, asked: &RollbackSnapshot) -> String {
    let done = places(root, path, asked).and_then(|(path, to)| {
        let patch = git.patch(&path).map_err(|fault| fault.to_string())?;
        let written = crate::snapshots::write_inside(root, to.as_bytes(), &patch);
        written.map(|()| (path, to)).map_err(|error| error.to_string())
    });
    match done {
        Ok((path, to)) => format!("DIFF: what {path} was, against HEAD, is in {to}"),
        Err(why) => format!("DIFF has no effect: {why}"),
    }
}

fn stashed(git: &Git<'_>, name: &str) -> String {
    match git.stash(&format!("writ: before {name}")) {
        Ok(Some(commit)) => format!("GIT_STASH: the stash entry {commit} has what the tracked files were"),
        Ok(None) => "GIT_STASH: no tracked file differs from HEAD, so there is no stash entry".to_owned(),
        Err(why) => format!("GIT_STASH has no effect: {why}"),
    }
}
