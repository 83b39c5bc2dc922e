//! Lists snapshots, and removes those that are old or too many, with the contents that only they had.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::rollback::Node;
use contract::domain::time::Timestamp;
use ops::host::{Collected, Collection, KeptSnapshot};
use rustix::fs::FlockOperation;

use super::objects::{Digest, Objects};
use super::record::{Header, Side};
use super::{Fault, Snapshots};

/// The file with the time of the last collection that a run made.
const COLLECTED: &str = "collected";

/// One snapshot as a collection sees it.
struct Candidate {
    attempt: AttemptId,
    at: Timestamp,
    contents: BTreeSet<Digest>,
    record_bytes: u64,
    is_damaged: bool,
}

impl Snapshots {
    /// Every snapshot that can be read, oldest first.
    pub fn list(&self) -> Result<Vec<KeptSnapshot>, Fault> {
        let mut kept = Vec::new();
        for attempt in self.attempts()? {
            let Some(record) = self.load(&attempt, Side::Before).ok().flatten() else { continue };
            let Header { task_id, run_id, name, root, at, taken, scopes, .. } = record.header;
            let has_end = self.record_path(&attempt, Side::After).is_some_and(|path| path.exists());
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

    /// Removes what the collection names. Waits until nobody takes a snapshot or rolls back.
    pub fn collect(&self, collection: &Collection) -> Result<Collected, Fault> {
        let alone = || self.hold(FlockOperation::NonBlockingLockExclusive);
        let _hold = if collection.is_preview { None } else { Some(alone()?) };
        let objects = if collection.is_preview { self.objects_as_they_are()? } else { self.objects()? };
        let sizes = sizes(objects.directory()).map_err(Fault::io("could not read the content store"))?;
        let mut candidates = self.candidates()?;
        candidates.sort_by(|one, two| (one.at, &one.attempt).cmp(&(two.at, &two.attempt)));
        let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
        for candidate in &candidates {
            candidate.contents.iter().for_each(|digest| *users.entry(*digest).or_default() += 1);
        }
        let mut collected = Collected { before_bytes: sizes.values().sum(), ..Collected::default() };
        collected.before_bytes += candidates.iter().map(|one| one.record_bytes).sum::<u64>();
        let unused = sizes.iter().filter(|(digest, _)| !users.contains_key(*digest));
        let unused: Vec<Digest> = unused.map(|(digest, _)| *digest).collect();
        let mut gone: BTreeSet<Digest> = unused.into_iter().collect();
        let mut left = collected.before_bytes - gone.iter().map(|digest| sizes[digest]).sum::<u64>();
        for candidate in &candidates {
            if collection.held.contains(&candidate.attempt) && !candidate.is_damaged {
                collected.held += 1;
                continue;
            }
            if candidate.at >= collection.cutoff && left <= collection.bytes_max {
                continue;
            }
            left = left.saturating_sub(candidate.record_bytes);
            for digest in &candidate.contents {
                let count = users.get_mut(digest).expect("BUG: counted above");
                *count -= 1;
                if *count == 0 && gone.insert(*digest) {
                    left = left.saturating_sub(sizes.get(digest).copied().unwrap_or(0));
                }
            }
            collected.snapshots += 1;
            if !collection.is_preview {
                self.forget(&candidate.attempt);
            }
        }
        collected.contents = gone.iter().filter(|digest| sizes.contains_key(*digest)).count() as u64;
        collected.left_bytes = left;
        if !collection.is_preview {
            let removed = remove(&objects, &gone);
            removed.map_err(Fault::io("could not remove old contents"))?;
        }
        Ok(collected)
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
    fn attempts(&self) -> Result<BTreeSet<AttemptId>, Fault> {
        let directory = self.directory.as_ref().ok_or(Fault::Nowhere)?;
        let listing = match fs::read_dir(directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(Fault::io(format!("could not read {}", directory.display()))(error)),
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (id, _) = name.split_once('.').filter(|(_, side)| matches!(*side, "before" | "after"))?;
            AttemptId::parse(id).ok()
        };
        Ok(listing.flatten().filter_map(name).collect())
    }

    fn candidates(&self) -> Result<Vec<Candidate>, Fault> {
        let mut candidates = Vec::new();
        for attempt in self.attempts()? {
            let mut candidate = Candidate {
                attempt: attempt.clone(),
                at: Timestamp::from_millis(0),
                contents: BTreeSet::new(),
                record_bytes: 0,
                is_damaged: false,
            };
            for side in [Side::Before, Side::After] {
                let path = self.record_path(&attempt, side).ok_or(Fault::Nowhere)?;
                candidate.record_bytes += fs::metadata(path).map_or(0, |meta| meta.len());
                match self.load(&attempt, side) {
                    Ok(Some(record)) => {
                        candidate.at = candidate.at.max(record.header.at);
                        candidate.contents.extend(record.tree.values().filter_map(content));
                    }
                    Ok(None) => {}
                    // Nobody can use it.
                    Err(_) => candidate.is_damaged = true,
                }
            }
            if candidate.is_damaged {
                candidate.at = Timestamp::from_millis(0);
            }
            candidates.push(candidate);
        }
        Ok(candidates)
    }
}

fn content(node: &Node) -> Option<Digest> {
    match node {
        Node::File { digest, .. } | Node::Link { digest } => Some(*digest),
        Node::Directory { .. } | Node::Special { .. } | Node::Unread { .. } => None,
    }
}

/// Every content and the space that it takes.
fn sizes(directory: &Path) -> io::Result<BTreeMap<Digest, u64>> {
    let mut sizes = BTreeMap::new();
    if !directory.exists() {
        return Ok(sizes);
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
                sizes.insert(digest, meta.blocks() * 512);
            }
        }
    }
    Ok(sizes)
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

fn remove(objects: &Objects, gone: &BTreeSet<Digest>) -> io::Result<()> {
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
