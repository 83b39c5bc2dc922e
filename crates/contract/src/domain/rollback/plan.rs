//! Decides for each path whether a rollback changes it. Pure: trees in, decisions out.

use std::collections::BTreeMap;

use super::tree::{Tree, TreeNode};
use super::{FileAction, FileStatus};

/// A scope before an attempt, and as the attempt left it.
#[derive(Debug, Clone, Copy)]
pub struct ScopeSpan<'t> {
    pub before: &'t Tree,
    pub after: &'t Tree,
}

/// What attempts did to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    pub before: Option<TreeNode>,
    pub after: Option<TreeNode>,
    /// Somebody else changed the path between two attempts, so only what the later ones did can be taken back.
    pub is_broken: bool,
}

/// What is to be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathDecision {
    pub action: FileAction,
    pub status: FileStatus,
}

/// What the attempts changed, newest attempt first. A path that is in the end as it was before is not listed.
pub fn changes(newest_first: &[ScopeSpan<'_>]) -> BTreeMap<Vec<u8>, PathChange> {
    let mut all: BTreeMap<Vec<u8>, PathChange> = BTreeMap::new();
    for span in newest_first {
        let new = span.after.keys().filter(|path| !span.before.contains_key(*path));
        for path in span.before.keys().chain(new) {
            let (before, after) = (span.before.get(path).copied(), span.after.get(path).copied());
            if before == after {
                continue;
            }
            match all.get_mut(path) {
                None => drop(all.insert(path.clone(), PathChange { before, after, is_broken: false })),
                Some(later) if later.is_broken => {}
                Some(later) if later.before == after => later.before = before,
                Some(later) => later.is_broken = true,
            }
        }
    }
    all.retain(|_, change| change.before != change.after);
    all
}

/// The change that reapplies what was taken back.
pub fn redone(change: PathChange) -> PathChange {
    PathChange { before: change.after, after: change.before, ..change }
}

/// What a rollback does with a path that is `now` like this.
pub fn decide(change: &PathChange, now: Option<&TreeNode>) -> PathDecision {
    let status = if now == change.before.as_ref() {
        FileStatus::Unchanged
    } else if now == change.after.as_ref() {
        FileStatus::Planned
    } else {
        FileStatus::Conflict
    };
    let action = match (&change.before, &change.after) {
        (None, _) => FileAction::Remove,
        (Some(_), None) => FileAction::Create,
        (Some(before), Some(after)) if before.differs_in_mode_only(after) => FileAction::Mode,
        (Some(_), Some(_)) => FileAction::Restore,
    };
    PathDecision { action, status }
}
