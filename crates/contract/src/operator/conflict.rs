//! When two locks on the workspace conflict: normal forms, modes, and all conflicts of a table in one pass.

use std::collections::BTreeSet;

use crate::domain::crew::lock::LockMode;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::scope::Scope;

/// A path that a task has locked or requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathClaim {
    pub task_id: TaskRef,
    pub scope: Scope,
    pub mode: LockMode,
    /// A released lock conflicts with nothing.
    pub active: bool,
}

/// Whether two claims conflict. Symmetric.
pub fn conflict(a: &PathClaim, b: &PathClaim, fold: bool) -> bool {
    let both_shared = a.mode == LockMode::Shared && b.mode == LockMode::Shared;
    let overlap = || if fold { a.scope.overlaps_ignoring_case(&b.scope) } else { a.scope.overlaps(&b.scope) };
    a.active && b.active && a.task_id != b.task_id && !both_shared && overlap()
}

/// One entry of a search for overlaps.
#[derive(Debug)]
pub(super) struct OverlapEntry {
    key: String,
    /// Entries of one group never conflict.
    group: usize,
    shared: bool,
    /// The caller's index of the entry.
    pub(super) index: usize,
}

impl OverlapEntry {
    pub(super) fn new(scope: &Scope, fold: bool, group: usize, index: usize) -> Self {
        Self { key: folded_key(scope, fold), group, shared: false, index }
    }

    pub(super) fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }
}

/// The pairs of entries that overlap and are of different groups, up to `most` of them, smaller index first.
///
/// Sorted by path, an entry that contains another comes before it with only its own descendants between, so one
/// pass with a stack finds every pair without comparing them all.
pub(super) fn overlapping(mut entries: Vec<OverlapEntry>, most: usize) -> Vec<(usize, usize)> {
    let rank = |byte: u8| if byte == b'/' { 0 } else { u16::from(byte) + 1 };
    entries.sort_by(|a, b| {
        let by_path = a.key.bytes().map(rank).cmp(b.key.bytes().map(rank));
        by_path.then_with(|| (a.group, a.shared, a.index).cmp(&(b.group, b.shared, b.index)))
    });
    entries.dedup_by(|later, first| {
        later.key == first.key && later.group == first.group && later.shared == first.shared
    });
    let mut pairs = Vec::new();
    let (mut exclusive, mut shared): (Vec<&OverlapEntry>, Vec<&OverlapEntry>) = (Vec::new(), Vec::new());
    for entry in &entries {
        for covering in [&mut exclusive, &mut shared] {
            while covering.pop_if(|last| !covers(&last.key, &entry.key)).is_some() {}
        }
        let shared_too: &[&OverlapEntry] = if entry.shared { &[] } else { &shared };
        for other in exclusive.iter().chain(shared_too).filter(|other| other.group != entry.group) {
            if pairs.len() == most {
                break;
            }
            pairs.push((other.index.min(entry.index), other.index.max(entry.index)));
        }
        if entry.shared { shared.push(entry) } else { exclusive.push(entry) }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// A set of scopes that tells whether one of them contains a path.
#[derive(Debug)]
pub(super) struct ScopeCover {
    keys: BTreeSet<String>,
    fold: bool,
}

impl ScopeCover {
    pub(super) fn new<'s>(scopes: impl Iterator<Item = &'s Scope>, fold: bool) -> Self {
        Self { keys: scopes.map(|scope| folded_key(scope, fold)).collect(), fold }
    }

    pub(super) fn contains(&self, scope: &Scope) -> bool {
        let key = folded_key(scope, self.fold);
        let above = key.match_indices('/').map(|(at, _)| &key[..at]);
        above.chain([key.as_str()]).any(|outer| self.keys.contains(outer))
    }
}

fn folded_key(scope: &Scope, fold: bool) -> String {
    if fold { key(&scope.folded()) } else { key(scope) }
}

/// A form in which one path contains another if it is a prefix: relative and absolute paths have separate roots.
fn key(scope: &Scope) -> String {
    let root = if scope.is_absolute() { "r" } else { "w" };
    match scope.as_str() {
        "." | "/" => root.to_owned(),
        path => format!("{root}/{}", path.trim_matches('/')),
    }
}

fn covers(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
