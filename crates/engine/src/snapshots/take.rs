//! Takes a snapshot before an attempt, and records what it left when it has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use contract::digest;
use contract::domain::attempt::{AttemptId, Taken};
use contract::domain::limits;
use contract::domain::rollback::{Tree, TreeNode, text};
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;

use super::objects::{Objects, ReadLimits, StoredObject, digest_of};
use super::place::ScopeRoot;
use super::record::{RecordHeader, RecordSide, SnapshotRecord};
use super::{SnapshotError, Snapshots, bounds, repositories};
use crate::index::{How, Index, Partial, Stat};
use crate::launcher::with_causes;

/// Whose scope is looked at, and where.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSubject<'s> {
    pub attempt: &'s AttemptId,
    pub task: &'s TaskId,
    pub run: &'s RunId,
    /// The task's id in its plan.
    pub name: &'s str,
    pub root: &'s Path,
    /// Under real names.
    pub scopes: &'s [Scope],
    pub at: Timestamp,
}

impl Snapshots {
    /// Keeps everything in the scope of an attempt that is about to begin.
    pub fn take(&self, index: &Index, subject: &SnapshotSubject<'_>) -> Result<Taken, SnapshotError> {
        if let Some(scope) = subject.scopes.iter().find(|scope| repositories::is_inside(scope)) {
            return Err(SnapshotError::Repository(scope.clone()));
        }
        let _hold = self.hold_shared()?;
        self.reserve()?;
        let ScopeLook { seen, ignored, repositories } = look(index, subject.root, subject.scopes)?;
        let objects = self.objects()?;
        let place =
            ScopeRoot::open(subject.root).map_err(SnapshotError::io("could not open the workspace"))?;
        let mut taking = Taking {
            objects: &objects,
            place: &place,
            taken: Taken::default(),
            bounds: bounds(self.file_bytes_max),
        };
        let tree = seen.into_iter().map(|(path, (node, stat))| {
            let node = taking.keep(&path, node, &stat);
            (path, node)
        });
        let mut tree: Tree = tree.collect();
        for path in repositories {
            if let Some(mark) = repositories::mark(subject.root, &path) {
                taking.leave(&path, mark, "the own directory of a git repository is not taken in");
                tree.insert(path, mark);
            }
        }
        objects.sync().map_err(SnapshotError::io("could not write the content store"))?;
        let taken = taking.taken;
        self.write(subject, RecordSide::Before, RecordDisk { tree, ignored, is_same: false }, taken.clone())?;
        Ok(taken)
    }

    /// Records what an attempt left. Nothing where its beginning was not kept, and nothing new where its end was.
    pub fn finish(&self, index: &Index, subject: &SnapshotSubject<'_>) -> Result<(), SnapshotError> {
        let is_known = self.record_path(subject.attempt, RecordSide::After).is_some_and(|path| path.exists());
        let Some(before) = self.load(subject.attempt, RecordSide::Before)?.filter(|_| !is_known) else {
            return Ok(());
        };
        let place =
            ScopeRoot::open(subject.root).map_err(SnapshotError::io("could not open the workspace"))?;
        let scopes = &before.header.scopes;
        let bounds = bounds(self.file_bytes_max);
        let is_new = |path: &[u8]| before.header.has_marks && !before.tree.contains_key(path);
        let mut tree = current(index, &place, (subject.root, scopes), (&[&before.tree], &is_new), &bounds)?;
        // What was there and ignored is not new, whatever the rules say by now.
        let ignored: BTreeSet<&[u8]> = before.ignored.iter().map(Vec::as_slice).collect();
        tree.retain(|path, _| before.tree.contains_key(path) || !is_in(&ignored, path));
        let tree: Tree = tree.into_iter().map(|(path, (node, _))| (path, node)).collect();
        let is_same = tree == before.tree;
        let subject = SnapshotSubject { scopes, ..*subject };
        let tree = if is_same { Tree::new() } else { tree };
        let contents = RecordDisk { tree, ignored: Vec::new(), is_same };
        self.write(&subject, RecordSide::After, contents, Taken::default())
    }

    /// The same, with the failure as a note for the attempt: a rollback then knows that its end is unknown.
    pub fn record_left(&self, index: &Index, subject: &SnapshotSubject<'_>) -> Option<String> {
        let fault = if self.has(subject.attempt) { self.finish(index, subject).err()? } else { return None };
        Some(format!(
            "what it left could not be recorded, so it cannot be rolled back: {}",
            with_causes(&fault)
        ))
    }

    fn write(
        &self,
        subject: &SnapshotSubject<'_>,
        side: RecordSide,
        RecordDisk { tree, ignored, is_same }: RecordDisk,
        taken: Taken,
    ) -> Result<(), SnapshotError> {
        let SnapshotSubject { attempt, task, run, name, root, scopes, at } = *subject;
        let header = RecordHeader {
            attempt_id: attempt.clone(),
            task_id: task.clone(),
            run_id: run.clone(),
            name: name.to_owned(),
            root: root.to_string_lossy().into_owned(),
            scopes: scopes.to_vec(),
            at,
            taken,
            has_marks: true,
            is_same,
        };
        let path = self.record_path(attempt, side).ok_or(SnapshotError::Nowhere)?;
        let written = SnapshotRecord { header, tree, ignored }.write(&path);
        written.map_err(SnapshotError::io(format!("could not write {}", path.display())))
    }
}

pub(super) type Seen = BTreeMap<Vec<u8>, (TreeNode, Stat)>;

/// The part of a record about the disk.
struct RecordDisk {
    tree: Tree,
    ignored: Vec<Vec<u8>>,
    is_same: bool,
}

/// What is in the scopes by the index, what it leaves out because git ignores it, and the own directories of repositories.
struct ScopeLook {
    seen: Seen,
    ignored: Vec<Vec<u8>>,
    repositories: Vec<Vec<u8>>,
}

fn look(index: &Index, root: &Path, scopes: &[Scope]) -> Result<ScopeLook, SnapshotError> {
    let small = index.clone().limited_to(limits::SNAPSHOT_PATHS_MAX);
    let look = small.look(root, &How { always: scopes, is_only: true, ..How::default() });
    let is_too_much = look.ignored().len() > limits::SNAPSHOT_PATHS_MAX;
    if let Some(partial) = look.partial().or(is_too_much.then_some(Partial::Files)) {
        return Err(SnapshotError::Partial(partial));
    }
    let repositories = look.repositories().map(<[u8]>::to_vec).collect();
    let seen = look.nodes().map(|(path, node, stat)| (path, (node, stat))).collect();
    Ok(ScopeLook { seen, ignored: look.ignored().to_vec(), repositories })
}

/// What is in the scopes, comparable with earlier trees: what those have is looked at even if git ignores it by now; a file
/// that was not read then and has the same stat data is the same, and any other file is read, within bounds.
pub(super) fn current(
    index: &Index,
    place: &ScopeRoot,
    (root, scopes): (&Path, &[Scope]),
    (known, is_new): (&[&Tree], &dyn Fn(&[u8]) -> bool),
    bounds: &ReadLimits,
) -> Result<Seen, SnapshotError> {
    let ScopeLook { mut seen, repositories, .. } = look(index, root, scopes)?;
    for path in
        repositories.iter().filter(|path| is_new(path)).flat_map(|path| repositories::below(root, path))
    {
        if let Some(found) = found(place, &path) {
            seen.insert(path, found);
        }
    }
    for path in known.iter().flat_map(|tree| tree.keys()) {
        if known.iter().any(|tree| repositories::is_mark(tree, path)) {
            seen.extend(repositories::mark(root, path).map(|mark| (path.clone(), (mark, Stat::default()))));
            continue;
        }
        if !seen.contains_key(path)
            && let Some(found) = found(place, path)
        {
            seen.insert(path.clone(), found);
        }
    }
    for (path, (node, stat)) in &mut seen {
        let unread = stat.unread();
        if known.iter().any(|tree| tree.get(path) == Some(&unread)) {
            *node = unread;
        } else if matches!(node, TreeNode::Unread { .. }) && stat.is_file() {
            *node = digested(place, path, stat, bounds).unwrap_or(unread);
        }
    }
    Ok(seen)
}

/// What is at a path, with the digest of its content. `None` if that cannot be read.
pub(super) fn node_at(place: &ScopeRoot, path: &[u8], bounds: &ReadLimits) -> Option<TreeNode> {
    match found(place, path)? {
        (TreeNode::Unread { .. }, stat) => digested(place, path, &stat, bounds),
        (node, _) => Some(node),
    }
}

/// What is at a path, without the index.
fn found(place: &ScopeRoot, path: &[u8]) -> Option<(TreeNode, Stat)> {
    let spot = place.spot(path).ok()?;
    let stat = Stat::of_found(&spot.stat().ok()??);
    if stat.is_directory() {
        return Some((TreeNode::Directory { mode: stat.mode() }, Stat::default()));
    }
    let node = if stat.is_link() {
        spot.read_link().map_or(stat.unread(), |to| TreeNode::Link { digest: digest::raw_of_bytes(&to) })
    } else if stat.is_file() {
        stat.unread()
    } else {
        stat.special()
    };
    Some((node, stat))
}

/// `None` if the file cannot be read, or not within bounds.
fn digested(place: &ScopeRoot, path: &[u8], stat: &Stat, bounds: &ReadLimits) -> Option<TreeNode> {
    let (digest, size) = digest_of(&place.spot(path).ok()?.open().ok()?, bounds).ok()?;
    Some(TreeNode::File { mode: stat.mode(), size, digest })
}

/// Whether one of the paths is this one or above it.
fn is_in(paths: &BTreeSet<&[u8]>, path: &[u8]) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    !paths.is_empty() && ends.chain([path.len()]).any(|end| paths.contains(&path[..end]))
}

struct Taking<'t> {
    objects: &'t Objects,
    place: &'t ScopeRoot,
    taken: Taken,
    bounds: ReadLimits,
}

impl Taking<'_> {
    /// Keeps one path. Returns what it is, as far as that can be restored.
    fn keep(&mut self, path: &[u8], node: TreeNode, stat: &Stat) -> TreeNode {
        match node {
            TreeNode::Directory { .. } => node,
            TreeNode::File { digest, size, .. } if self.objects.has(&digest, size) => {
                self.taken.files += 1;
                node
            }
            TreeNode::File { size, .. } => self.keep_file(path, size, stat),
            TreeNode::Unread { size, .. } if stat.is_file() => self.keep_file(path, size, stat),
            TreeNode::Link { .. } => self.keep_link(path, node),
            TreeNode::Special { .. } => self.leave(path, node, "it is a pipe, a socket or a device"),
            TreeNode::Unread { .. } => self.leave(path, node, "it cannot be read"),
        }
    }

    fn keep_file(&mut self, path: &[u8], size: u64, stat: &Stat) -> TreeNode {
        if let Err(why) = self.bounds.check(size) {
            return self.leave(path, stat.unread(), &why.to_string());
        }
        if self.taken.new_bytes.saturating_add(size) > limits::SNAPSHOT_BYTES_MAX {
            let why = "the snapshot has no room for it (SNAPSHOT_BYTES_MAX)";
            return self.leave(path, stat.unread(), why);
        }
        let file = match self.place.spot(path).and_then(|spot| spot.open()) {
            Ok(file) => file,
            Err(error) => return self.leave(path, stat.unread(), &error.to_string()),
        };
        match self.objects.put_file(&file, &self.bounds) {
            Ok(StoredObject { digest, bytes, is_cloned, is_new }) => {
                self.taken.files += 1;
                if is_new {
                    self.taken.new_bytes += bytes;
                    *if is_cloned { &mut self.taken.cloned } else { &mut self.taken.copied } += 1;
                }
                TreeNode::File { mode: stat.mode(), size: bytes, digest }
            }
            Err(error) => {
                self.note_broken(path, &error);
                self.leave(path, stat.unread(), &error.to_string())
            }
        }
    }

    /// What a limit keeps out is known before; that the disk is full or a device failed is not.
    fn note_broken(&mut self, path: &[u8], error: &io::Error) {
        if error.raw_os_error().is_some() {
            self.taken.broken.get_or_insert_with(|| format!("{}: {error}", text(path)));
        }
    }

    fn keep_link(&mut self, path: &[u8], node: TreeNode) -> TreeNode {
        let target = self.place.spot(path).and_then(|spot| spot.read_link());
        let target = match target {
            Ok(target) => target,
            Err(error) => return self.leave(path, node, &error.to_string()),
        };
        match self.objects.put_bytes(&target) {
            Ok((digest, _)) => {
                self.taken.files += 1;
                TreeNode::Link { digest }
            }
            Err(error) => {
                self.note_broken(path, &error);
                self.leave(path, node, &error.to_string())
            }
        }
    }

    fn leave(&mut self, path: &[u8], node: TreeNode, why: &str) -> TreeNode {
        if self.taken.not_taken.len() < limits::NOT_TAKEN_LISTED_MAX {
            self.taken.not_taken.push(format!("{}: {why}", text(path)));
        } else {
            self.taken.not_taken_more += 1;
        }
        node
    }
}
