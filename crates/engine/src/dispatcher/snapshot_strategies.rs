//! The snapshot strategies of an AOP TASK, besides the snapshot that writ takes: a copy, a patch or a stash entry.

use std::path::Path;

use contract::aop::task::{RollbackSnapshot, SnapshotStrategy, Task};
use contract::domain::id::{Attempt, Id};
use contract::domain::scope::Scope;

use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use crate::git::Git;
use crate::snapshots::copy_inside;

/// Applies the `snapshot_strategy` of each output of the TASK. Returns what was done, and what has no effect and why.
pub(super) fn apply_snapshot_strategies(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &Id<Attempt>,
) -> Vec<String> {
    let Some(document) = work.spec().aop.as_ref().filter(|_| work.spec().rollback) else {
        return Vec::new();
    };
    let Ok(document) = serde_json::from_value::<Task>(document.clone()) else { return Vec::new() };
    let root = Path::new(&engine.run.asked.workspace);
    let may_write = engine.settings.ceiling.as_ref().and_then(|ceiling| ceiling.writes.as_deref());
    let places = |path, asked| places(root, path, asked, may_write);
    let git = Git { runner: engine.runner(attempt), workspace: root };
    let mut notes = Vec::new();
    let mut is_stashed = false;
    for (path, asked) in contract::intake::snapshots(&document) {
        match asked.snapshot_strategy.unwrap_or(SnapshotStrategy::Copy) {
            SnapshotStrategy::Copy if asked.snapshot_path.is_none() => {}
            SnapshotStrategy::Copy => notes.push(copied(root, places(path, asked))),
            SnapshotStrategy::Diff => notes.push(patched(&git, root, places(path, asked))),
            SnapshotStrategy::GitStash if is_stashed => {}
            SnapshotStrategy::GitStash => {
                is_stashed = true;
                notes.push(stashed(&git, work.name()));
            }
            SnapshotStrategy::None => {}
        }
    }
    notes
}

/// The output and the place for its snapshot, both seen from the workspace.
type Places = Result<(String, String), String>;

/// Directories that only writ, git and people write to.
const KEPT: &[&str] = &[".git", ".writ"];

/// Where snapshots replace those of earlier attempts. Anywhere else they replace nothing.
const SNAPSHOTS: &str = ".aop_snapshots";

/// writ writes there although the task may not, so the place must be new and no one's own. A run that was started from inside
/// a sandbox writes only where its starter may: `may_write` has absolute paths.
fn places(root: &Path, path: Option<&str>, asked: &RollbackSnapshot, may_write: Option<&[String]>) -> Places {
    let directory = root;
    let root = root.to_str().ok_or("the workspace's path is not UTF-8")?;
    let inside = |text: &str| match Scope::parse(text, Some(root)) {
        Ok(scope) => Ok(scope.as_str().to_owned()),
        Err(fault) => Err(format!("`{text}` {fault}")),
    };
    let path = path.ok_or("the output has no path")?;
    let to = asked.snapshot_path.as_deref().ok_or("it has no snapshot_path")?;
    let (path, to) = (inside(path)?, inside(to)?);
    let steps = || to.split('/');
    if let Some(kept) = KEPT.iter().find(|kept| steps().any(|step| step.eq_ignore_ascii_case(kept))) {
        return Err(format!("`{to}` is in `{kept}`"));
    }
    let place = directory.join(&to);
    if may_write.is_some_and(|writes| !writes.iter().any(|open| place.starts_with(open))) {
        return Err(format!("the program that started the run may not write `{to}`"));
    }
    let is_there = || place.symlink_metadata().is_ok();
    if !steps().any(|step| step == SNAPSHOTS) && is_there() {
        return Err(format!("`{to}` exists, and only files in `{SNAPSHOTS}` are replaced"));
    }
    Ok((path, to))
}

fn copied(root: &Path, places: Places) -> String {
    let done = places.and_then(|(path, to)| {
        let copied = copy_inside(root, path.as_bytes(), to.as_bytes());
        copied.map(|is| (is, path, to)).map_err(|error| error.to_string())
    });
    match done {
        Ok((true, path, to)) => format!("COPY: {path} was copied to {to}"),
        Ok((false, path, _)) => format!("COPY: {path} did not exist, so there is no copy"),
        Err(why) => format!("COPY has no effect: {why}"),
    }
}

fn patched(git: &Git<'_>, root: &Path, places: Places) -> String {
    let done = places.and_then(|(path, to)| {
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
