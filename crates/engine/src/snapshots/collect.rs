//! Lists snapshots, and removes those that are old or too many, with the contents that only they had.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::rollback::TreeNode;
use contract::domain::time::Timestamp;
use ops::host::{Collected, Collection, KeptSnapshot};
use rustix::fs::FlockOperation;

use super::objects::{Digest, Objects};
use super::record::{RecordHeader, RecordSide};
use super::{SnapshotError, Snapshots};

/// The file with the time of the last collection that a run made.
const COLLECTED: &str = "collected";

/// One snapshot as a collection sees it. What it contains is read again where it matters: all together may not fit into memory.
struct CollectCandidate {
    attempt: AttemptId,
    at: Timestamp,
    record_bytes: u64,
    condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Readable,
    /// Nobody can use it.
    Damaged,
    /// Another version may, and what it needs is not known.
    Unknown,
}

impl Snapshots {
    /// Every snapshot that can be read, oldest first.
    pub fn list(&self) -> Result<Vec<KeptSnapshot>, SnapshotError> {
        let mut kept = Vec::new();
        for attempt in self.attempts()? {
            let Some(record) = self.load(&attempt, RecordSide::Before).ok().flatten() else { continue };
            let RecordHeader { task_id, run_id, name, root, at, taken, scopes, .. } = record.header;
            let has_end = self.record_path(&attempt, RecordSide::After).is_some_and(|path| path.exists());
            let workspace = root;
            kept.push(KeptSnapshot {
                attempt_id: attempt,
                task_id,
                run_id,
                name,
                workspace,
                scopes,
                at,
                taken,
                has_end,
            });
        }
        kept.sort_by(|one, two| (one.at, &one.attempt_id).cmp(&(two.at, &two.attempt_id)));
        Ok(kept)
    }

    /// Removes the snapshots that the collection names, under an exclusive lock. Nothing is removed if a record cannot be
    /// read.
    pub fn collect(&self, collection: &Collection) -> Result<Collected, SnapshotError> {
        let alone = || self.hold(FlockOperation::NonBlockingLockExclusive);
        let _hold = if collection.is_preview { None } else { Some(alone()?) };
        let objects = if collection.is_preview { self.objects_as_they_are()? } else { self.objects()? };
        let kept = Contents::in_directory(objects.directory());
        let mut contents = kept.map_err(SnapshotError::io("could not read the content store"))?;
        let mut candidates = self.candidates(&mut contents)?;
        candidates.sort_by(|one, two| (one.at, &one.attempt).cmp(&(two.at, &two.attempt)));
        // Any content could be one that it needs.
        let are_all_needed = candidates.iter().any(|one| one.condition == Condition::Unknown);
        let records: u64 = candidates.iter().map(|one| one.record_bytes).sum();
        let mut collected = Collected { before_bytes: contents.bytes() + records, ..Collected::default() };
        let mut left = collected.before_bytes;
        if !are_all_needed {
            left -= contents.unused().map(|content| content.bytes).sum::<u64>();
        }
        for candidate in &candidates {
            if is_needed(collection, candidate) {
                collected.held += 1;
                continue;
            }
            let is_too_much = left > collection.bytes_max && !are_all_needed;
            if candidate.at >= collection.cutoff && !is_too_much {
                continue;
            }
            let freed = contents.release(&self.contents_of(&candidate.attempt)?);
            left = left.saturating_sub(candidate.record_bytes);
            left = left.saturating_sub(if are_all_needed { 0 } else { freed });
            collected.snapshots += 1;
            if !collection.is_preview {
                self.forget(&candidate.attempt);
            }
        }
        collected.left_bytes = left;
        let gone: Vec<Digest> = contents.unused().map(|content| content.digest).collect();
        let gone = if are_all_needed { Vec::new() } else { gone };
        collected.contents = gone.len() as u64;
        if !collection.is_preview {
            let removed = remove(&objects, &gone).and_then(|()| self.remove_unfinished());
            removed.map_err(SnapshotError::io("could not remove old contents"))?;
        }
        Ok(collected)
    }

    /// Records that were not written to their end. Nobody is writing one: this is the only one that uses the snapshots now.
    fn remove_unfinished(&self) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        for entry in fs::read_dir(directory)?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "tmp") {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Whether the last collection is long ago, by the same clock.
    pub fn is_collection_due(&self, now: Timestamp) -> bool {
        let Some(directory) = self.directory.as_ref().filter(|directory| directory.is_dir()) else {
            return false;
        };
        let last =
            fs::read_to_string(directory.join(COLLECTED)).ok().and_then(|text| text.trim().parse().ok());
        let is_due = last.is_none_or(|last: i64| {
            let interval = i64::try_from(limits::SNAPSHOTS_COLLECTED.as_millis()).expect("BUG: a day fits");
            now.millis().saturating_sub(last) >= interval
        });
        // Noted before it begins, so that of two runs that end together only one collects.
        is_due && fs::write(directory.join(COLLECTED), now.millis().to_string()).is_ok()
    }

    /// The attempts that have a record.
    fn attempts(&self) -> Result<BTreeSet<AttemptId>, SnapshotError> {
        let directory = self.directory.as_ref().ok_or(SnapshotError::Nowhere)?;
        let listing = match fs::read_dir(directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => {
                return Err(SnapshotError::io(format!("could not read {}", directory.display()))(error));
            }
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (id, _) = name.split_once('.').filter(|(_, side)| matches!(*side, "before" | "after"))?;
            AttemptId::parse(id).ok()
        };
        Ok(listing.flatten().filter_map(name).collect())
    }

    /// Every snapshot, after counting who uses which content.
    fn candidates(&self, contents: &mut Contents) -> Result<Vec<CollectCandidate>, SnapshotError> {
        let mut candidates = Vec::new();
        for attempt in self.attempts()? {
            let mut candidate = CollectCandidate {
                attempt: attempt.clone(),
                at: Timestamp::from_millis(0),
                record_bytes: 0,
                condition: Condition::Readable,
            };
            let mut digests = BTreeSet::new();
            for side in [RecordSide::Before, RecordSide::After] {
                let path = self.record_path(&attempt, side).ok_or(SnapshotError::Nowhere)?;
                candidate.record_bytes += fs::metadata(path).map_or(0, |meta| meta.len());
                match self.load(&attempt, side) {
                    Ok(Some(record)) => {
                        candidate.at = candidate.at.max(record.header.at);
                        digests.extend(record.tree.values().filter_map(content));
                    }
                    Ok(None) => {}
                    Err(SnapshotError::OtherVersion(_)) => candidate.condition = Condition::Unknown,
                    Err(SnapshotError::Damaged(_)) if candidate.condition == Condition::Readable => {
                        candidate.condition = Condition::Damaged;
                    }
                    Err(SnapshotError::Damaged(_)) => {}
                    Err(fault) => return Err(fault),
                }
            }
            contents.count(&digests);
            if candidate.condition == Condition::Damaged {
                candidate.at = Timestamp::from_millis(0);
            }
            candidates.push(candidate);
        }
        Ok(candidates)
    }

    /// The contents of one snapshot, as far as its records can be read.
    fn contents_of(&self, attempt: &AttemptId) -> Result<BTreeSet<Digest>, SnapshotError> {
        let mut digests = BTreeSet::new();
        for side in [RecordSide::Before, RecordSide::After] {
            match self.load(attempt, side) {
                Ok(Some(record)) => digests.extend(record.tree.values().filter_map(content)),
                Ok(None) | Err(SnapshotError::Damaged(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(digests)
    }
}

/// Whether a snapshot stays however old it is.
fn is_needed(collection: &Collection, candidate: &CollectCandidate) -> bool {
    let CollectCandidate { attempt, condition, .. } = candidate;
    match condition {
        Condition::Damaged => false,
        Condition::Unknown => true,
        Condition::Readable => !collection.listed.contains(attempt) || collection.held.contains(attempt),
    }
}

/// A content, the space that it takes, and how many snapshots have it.
struct ContentUse {
    digest: Digest,
    bytes: u64,
    users: u32,
}

/// Every content of the store, sorted by digest. There are at most as many as `SNAPSHOTS_BYTES_MAX` has blocks.
struct Contents(Vec<ContentUse>);

impl Contents {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|content| content.bytes).sum()
    }

    fn unused(&self) -> impl Iterator<Item = &ContentUse> {
        self.0.iter().filter(|content| content.users == 0)
    }

    fn get(&mut self, digest: &Digest) -> Option<&mut ContentUse> {
        let at = self.0.binary_search_by(|content| content.digest.cmp(digest)).ok()?;
        self.0.get_mut(at)
    }

    /// One more snapshot has them.
    fn count(&mut self, digests: &BTreeSet<Digest>) {
        for digest in digests {
            if let Some(content) = self.get(digest) {
                content.users += 1;
            }
        }
    }

    /// One snapshot less has them. Returns the space of those that none has now.
    fn release(&mut self, digests: &BTreeSet<Digest>) -> u64 {
        let mut freed = 0;
        for digest in digests {
            if let Some(content) = self.get(digest) {
                content.users -= 1;
                freed += if content.users == 0 { content.bytes } else { 0 };
            }
        }
        freed
    }

    fn in_directory(directory: &Path) -> io::Result<Self> {
        let mut contents = Vec::new();
        if !directory.exists() {
            return Ok(Self(contents));
        }
        for part in fs::read_dir(directory)?.flatten() {
            let prefix = part.file_name().into_string().unwrap_or_default();
            if prefix.len() != 2 {
                continue;
            }
            for entry in fs::read_dir(part.path())?.flatten() {
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let Ok(meta) = entry.metadata() else { continue };
                if let Some(digest) = parsed(&name) {
                    contents.push(ContentUse { digest, bytes: meta.blocks() * 512, users: 0 });
                }
            }
        }
        contents.sort_unstable_by_key(|content| content.digest);
        Ok(Self(contents))
    }
}

fn content(node: &TreeNode) -> Option<Digest> {
    match node {
        TreeNode::File { digest, .. } | TreeNode::Link { digest } => Some(*digest),
        TreeNode::Directory { .. } | TreeNode::Special { .. } | TreeNode::Unread { .. } => None,
    }
}

fn parsed(hex: &str) -> Option<Digest> {
    let digits = hex.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

fn remove(objects: &Objects, gone: &[Digest]) -> io::Result<()> {
    for digest in gone {
        match fs::remove_file(objects.path(digest)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    // Nobody is writing one: this is the only one that uses the store now.
    for entry in fs::read_dir(objects.directory().join("tmp"))?.flatten() {
        fs::remove_file(entry.path())?;
    }
    Ok(())
}
