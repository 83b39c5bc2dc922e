//! Takes back what attempts changed, path by path. Each step can be repeated, and each file is replaced as a whole.

mod steps;

use std::collections::BTreeMap;
use std::path::Path;

use contract::domain::attempt::AttemptId;
use contract::domain::rollback::{
    Direction, FileAction, FileResult, FileStatus, PathChange, ScopeSpan, Tree, TreeNode, changes, decide,
    redone, text,
};
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;

use super::objects::{Objects, ReadLimits, digest_of};
use super::place::ScopeRoot;
use super::record::RecordSide;
use super::take::{Seen, current};
use super::{SnapshotError, Snapshots, bounds};
use crate::index::{Index, Stat};

/// What is taken back, or reapplied.
#[derive(Debug, Clone, Copy)]
pub struct RestoreJob<'j> {
    pub root: &'j Path,
    /// Newest first. Those without a snapshot are passed over.
    pub attempts: &'j [AttemptId],
    pub direction: Direction,
    /// Only says what would be done.
    pub is_preview: bool,
    /// The same rollback was begun before and did not end, so some paths may be half way.
    is_repeated: bool,
    /// Who may have changed the same paths.
    beside: &'j [Beside],
    /// While nothing of writ's wrote there.
    between: Option<Between>,
    /// Ends as if it was killed after so many steps.
    steps_max: Option<usize>,
}

impl<'j> RestoreJob<'j> {
    pub fn new(root: &'j Path, attempts: &'j [AttemptId], direction: Direction) -> Self {
        Self {
            root,
            attempts,
            direction,
            is_preview: false,
            is_repeated: false,
            beside: &[],
            between: None,
            steps_max: None,
        }
    }

    #[must_use]
    pub fn previewed(self) -> Self {
        Self { is_preview: true, ..self }
    }

    #[must_use]
    pub fn repeated(self, is_repeated: bool) -> Self {
        Self { is_repeated, ..self }
    }

    /// What one of these may have changed stays.
    #[must_use]
    pub fn beside(self, beside: &'j [Beside]) -> Self {
        Self { beside, ..self }
    }

    /// A file that was changed in this time stays.
    #[must_use]
    pub fn between(self, between: Option<Between>) -> Self {
        Self { between, ..self }
    }

    #[cfg(test)]
    pub(super) fn killed_after(self, steps: usize) -> Self {
        Self { steps_max: Some(steps), ..self }
    }
}

/// A task that ran at the same time and declares no paths: its changes are unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub name: String,
    pub since: Timestamp,
    pub until: Timestamp,
}

/// The time after an engine had died and before the next one began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    pub since: Timestamp,
    pub until: Timestamp,
}

/// Why a path is left that a limit kept out of the snapshot.
pub(crate) const NOT_TAKEN: &str = "its content was not taken in before the task began";

/// Why a path is left that is neither as the task left it nor as it was before.
const CHANGED: &str = "it changed since the task ended";

/// File systems note times by a coarse clock.
const TIME_SLACK_MS: i64 = 50;

impl Beside {
    /// Whether it ran when a path was changed for the last time. Of what is gone, and of directories, only the earliest
    /// time is known.
    fn may_have_changed(&self, at_ms: i64, is_latest: bool) -> bool {
        let is_after = at_ms + TIME_SLACK_MS >= self.since.millis();
        is_after && (!is_latest || at_ms - TIME_SLACK_MS <= self.until.millis())
    }
}

/// What the attempts changed, and where.
struct AttemptChanges {
    changes: BTreeMap<Vec<u8>, PathChange>,
    scopes: Vec<Scope>,
    /// Directories that they left as they were and that their owner cannot write, with their modes.
    steady: Vec<(Vec<u8>, u32)>,
}

/// A path that the attempts changed.
pub(super) struct Item {
    path: Vec<u8>,
    change: PathChange,
    result: FileResult,
    /// What was seen there; `None` for a directory or nothing.
    stat: Option<Stat>,
    is_directory_now: bool,
}

impl Item {
    fn is_planned(&self) -> bool {
        self.result.status == FileStatus::Planned
    }

    fn end(&mut self, status: FileStatus, reason: impl Into<String>) {
        self.result.status = status;
        self.result.reason = Some(reason.into());
    }
}

impl Snapshots {
    /// Restores every path that the attempts changed, or previews it. A path that has neither its old state nor the
    /// state the attempts left is a conflict and stays. Everything that is replaced or removed is stored first.
    pub fn roll_back(&self, index: &Index, job: &RestoreJob<'_>) -> Result<Vec<FileResult>, SnapshotError> {
        // A preview relies on nothing that a collection could remove.
        let _hold = if job.is_preview { None } else { Some(self.hold_shared()?) };
        let changes = self.changes(job)?;
        let place = ScopeRoot::open(job.root).map_err(SnapshotError::io("could not open the workspace"))?;
        let objects = if job.is_preview { self.objects_as_they_are()? } else { self.objects()? };
        let bounds = bounds(self.file_bytes_max);
        let mut work =
            steps::RestoreWork { place: &place, objects: &objects, bounds, steps_left: job.steps_max };
        if !job.is_preview {
            work.clear_leftovers(&changes.changes)?;
        }
        let mut items = items(index, &place, job, changes, &bounds)?;
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            leave_unseen_edits(&place, &bounds, item);
        }
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            leave_later_edits(job.between, item);
        }
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            leave_to_others(&place, job.beside, item);
        }
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            refuse_what_is_not_kept(&objects, item);
        }
        if !job.is_preview {
            work.run(&mut items)?;
        }
        Ok(items.into_iter().map(|item| item.result).collect())
    }

    /// What the attempts changed, in the direction of the job, and where.
    fn changes(&self, job: &RestoreJob<'_>) -> Result<AttemptChanges, SnapshotError> {
        let mut trees: Vec<(Tree, Tree)> = Vec::new();
        let mut scopes: Vec<Scope> = Vec::new();
        for attempt in job.attempts {
            let Some(before) = self.load(attempt, RecordSide::Before)? else { continue };
            let after = self.load(attempt, RecordSide::After)?;
            let after = after.ok_or_else(|| SnapshotError::EndUnknown(attempt.clone()))?;
            scopes.extend(before.header.scopes);
            let left = if after.header.is_same { before.tree.clone() } else { after.tree };
            trees.push((before.tree, left));
        }
        if trees.is_empty() {
            return Err(SnapshotError::Missing);
        }
        scopes.sort_unstable();
        scopes.dedup();
        let spans: Vec<ScopeSpan<'_>> =
            trees.iter().map(|(before, after)| ScopeSpan { before, after }).collect();
        let changes = changes(&spans);
        // Only what is above a changed path was ever opened.
        let is_above = |path: &[u8]| {
            let below = [path, b"/"].concat();
            changes.range(below.clone()..).next().is_some_and(|(changed, _)| changed.starts_with(&below))
        };
        let steady =
            trees.iter().take(1).flat_map(|(_, after)| after).filter_map(|(path, node)| match node {
                TreeNode::Directory { mode }
                    if mode & 0o700 != 0o700 && !changes.contains_key(path) && is_above(path) =>
                {
                    Some((path.clone(), *mode))
                }
                _ => None,
            });
        let steady = steady.collect();
        let changes = match job.direction {
            Direction::Undo => changes,
            Direction::Redo => changes.into_iter().map(|(path, change)| (path, redone(change))).collect(),
        };
        Ok(AttemptChanges { changes, scopes, steady })
    }
}

fn items(
    index: &Index,
    place: &ScopeRoot,
    job: &RestoreJob<'_>,
    AttemptChanges { mut changes, scopes, steady }: AttemptChanges,
    bounds: &ReadLimits,
) -> Result<Vec<Item>, SnapshotError> {
    let known = |side: fn(&PathChange) -> Option<TreeNode>| -> Tree {
        changes.iter().filter_map(|(path, change)| Some((path.clone(), side(change)?))).collect()
    };
    let (before, after) = (known(|change| change.before), known(|change| change.after));
    let now = current(index, place, (job.root, &scopes), (&[&before, &after], &|_| false), bounds)?;
    if job.is_repeated {
        changes.extend(left_open(steady, &now));
    }
    Ok(changes.into_iter().map(|(path, change)| item(path, change, &now, job.is_repeated)).collect())
}

/// Directories that a rollback which was killed had opened to change what is in them.
fn left_open(steady: Vec<(Vec<u8>, u32)>, now: &Seen) -> impl Iterator<Item = (Vec<u8>, PathChange)> {
    steady.into_iter().filter_map(|(path, mode)| {
        let open = TreeNode::Directory { mode: mode | 0o700 };
        let is_open = now.get(&path).is_some_and(|(node, _)| *node == open);
        let before = Some(TreeNode::Directory { mode });
        is_open.then_some((path, PathChange { before, after: Some(open), is_broken: false }))
    })
}

fn item(path: Vec<u8>, change: PathChange, now: &Seen, is_repeated: bool) -> Item {
    let found = now.get(&path);
    let mut decision = decide(&change, found.map(|(node, _)| node));
    if is_repeated
        && decision.status == FileStatus::Conflict
        && is_half_way(&change, found.map(|(node, _)| node))
    {
        decision.status = FileStatus::Planned;
    }
    // What the one before brought about is part of the same rollback.
    if is_repeated && decision.status == FileStatus::Unchanged {
        decision.status = FileStatus::Done;
    }
    let reason = match decision.status {
        FileStatus::Conflict => Some(CHANGED.to_owned()),
        _ if change.is_broken => Some(
            "somebody else changed it between two attempts; only the later change is taken back".to_owned(),
        ),
        _ => None,
    };
    let result = FileResult { path: text(&path), action: decision.action, status: decision.status, reason };
    let stat = found.filter(|(node, _)| !node.is_directory()).map(|(_, stat)| *stat);
    let is_directory_now = found.is_some_and(|(node, _)| node.is_directory());
    Item { path, change, result, stat, is_directory_now }
}

/// Whether a killed rollback can have left this path: a read-only directory that was made writable to change its entries.
fn is_half_way(change: &PathChange, now: Option<&TreeNode>) -> bool {
    let is_open = |node: &TreeNode| match (now, node) {
        (Some(TreeNode::Directory { mode: now }), TreeNode::Directory { mode }) => *now == mode | 0o700,
        _ => false,
    };
    change.before.iter().chain(&change.after).any(is_open)
}

/// A memory-mapped write need not change a file's times, so a file is read again before it is replaced or removed.
fn leave_unseen_edits(place: &ScopeRoot, bounds: &ReadLimits, item: &mut Item) {
    let (Some(TreeNode::File { digest, .. }), Some(_)) = (item.change.after, &item.stat) else { return };
    if item.result.action == FileAction::Mode {
        return;
    }
    let read = place.spot(&item.path).and_then(|spot| spot.open()).and_then(|file| digest_of(&file, bounds));
    match read {
        Ok((found, _)) if found == digest => {}
        Ok(_) => item.end(FileStatus::Conflict, CHANGED),
        Err(error) => item.end(FileStatus::Failed, error.to_string()),
    }
}

/// A file that was changed while no engine worked stays. For removed paths and directories the time is unknown, and
/// nothing is lost.
fn leave_later_edits(between: Option<Between>, item: &mut Item) {
    let (Some(between), Some(stat)) = (between, &item.stat) else { return };
    let at_ms = stat.changed_ms();
    if at_ms >= between.since.millis() && at_ms <= between.until.millis() {
        item.end(FileStatus::Conflict, "it was changed after the engine had died");
    }
}

/// A path that a concurrent task may have changed stays.
fn leave_to_others(place: &ScopeRoot, beside: &[Beside], item: &mut Item) {
    if beside.is_empty() {
        return;
    }
    let ctime_ms = |stat: &Stat| stat.changed_ms();
    let (at_ms, is_latest) = match &item.stat {
        Some(stat) => (ctime_ms(stat), true),
        None => (changed_around(place, &item.path).as_ref().map_or(i64::MAX / 2, ctime_ms), false),
    };
    if let Some(other) = beside.iter().find(|other| other.may_have_changed(at_ms, is_latest)) {
        item.end(
            FileStatus::Conflict,
            format!("`{}` ran at the same time and may have changed it", other.name),
        );
    }
}

/// The stat data of a directory, or of the nearest one above what is gone.
fn changed_around(place: &ScopeRoot, path: &[u8]) -> Option<Stat> {
    let ends = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    [path.len()].into_iter().chain(ends).find_map(|end| {
        let found = place.spot(&path[..end]).ok()?.stat().ok()??;
        Some(Stat::of_found(&found))
    })
}

/// A path without stored content cannot be restored.
fn refuse_what_is_not_kept(objects: &Objects, item: &mut Item) {
    if matches!(item.change.after, Some(TreeNode::Special { .. })) {
        let reason = "it is a pipe, a socket or a device, which could not be made again; remove it by hand";
        return item.end(FileStatus::Failed, reason);
    }
    let missing = match &item.change.before {
        None | Some(TreeNode::Directory { .. }) => return,
        Some(TreeNode::File { digest, size, .. }) if objects.has(digest, *size) => return,
        Some(TreeNode::Link { digest }) if objects.has_some(digest) => return,
        // Only the mode changed.
        Some(TreeNode::File { digest, .. }) if matches!(&item.change.after, Some(TreeNode::File { digest: left, .. }) if left == digest) =>
        {
            return;
        }
        Some(TreeNode::File { .. } | TreeNode::Link { .. }) => "its content is not in the content store",
        Some(TreeNode::Special { .. }) => "it was a pipe, a socket or a device, which is not made again",
        Some(TreeNode::Unread { .. }) => NOT_TAKEN,
    };
    item.end(FileStatus::Failed, missing);
}
