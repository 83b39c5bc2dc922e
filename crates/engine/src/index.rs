//! One index of a workspace, keyed by stat data: what every file was when writ last looked.
//!
//! A look walks the tree and compares device, inode, size, times and mode with the look before it; only files that
//! differ are read. A file that changed in the same instant as it was looked at could change again without another
//! time stamp, so it is read again by the next look, as git does it. The index is a cache beside the store: a damaged
//! one is made again, and it proves nothing that the disk does not.

mod git;
mod kept;
mod names;
mod nodes;
mod rules;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use contract::digest;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::limits;
use contract::domain::outside::covers;
use contract::domain::rollback::text;
use contract::domain::scope::Scope;
use contract::intake::AuditFiles;

use nodes::FreshLook;

pub use rules::IgnoreRules;

/// So many racy files may be read once more by another process, which costs less than to write the whole index.
const RACY_FILES_UNSAVED_MAX: usize = 64;

/// Looks at workspaces, and keeps what it saw.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Where looks are kept; `None` keeps nothing, and every look reads everything.
    directory: Option<PathBuf>,
    /// A smaller limit than `INDEX_FILES_MAX`.
    files_max: Option<usize>,
    /// The files of the store, wherever they are: never looked at, and above all never opened. Closing a database file
    /// would release the locks that SQLite holds on it in this process.
    own: Vec<PathBuf>,
    /// The audit files of sessions: derived from the store, so they never count as changes.
    audit: AuditFiles,
    /// The last look that was loaded or saved, so that the next one does not load it again.
    last: Arc<Mutex<Option<Last>>>,
}

/// A look that is in memory as well as in a file.
#[derive(Debug, Clone)]
struct Last {
    root: PathBuf,
    /// The stored form of the look, which may count more files as racy.
    stored: StoredIndex,
    look: Look,
}

/// What tells that a file of the index is still the same one: each is written once, and replaced as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StoredIndex {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// What a look is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct How<'h> {
    /// Looked at even where the rules ignore it: what a task may write, and what it must not. The whole workspace is
    /// looked at by its rules.
    pub always: &'h [Scope],
    /// Whether nothing else is looked at.
    pub is_only: bool,
    /// Never looked at: declared scratch.
    pub never: &'h [Scope],
    /// The rules of an earlier look; those on the disk where it is `None`.
    pub rules: Option<&'h IgnoreRules>,
}

/// A workspace as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// By the directory's path from the root, then by name.
    directories: Arc<Directories>,
    rules: IgnoreRules,
    /// Why it does not show everything.
    partial: Option<Partial>,
    /// Files that were read for it.
    read: usize,
    /// Only in a look at scopes alone. Not kept with the look.
    seen: Arc<FreshLook>,
}

type Directories = BTreeMap<Vec<u8>, Vec<IndexEntry>>;

/// Why a look does not show everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Partial {
    #[error(
        "the workspace has more than {} files that git does not ignore (INDEX_FILES_MAX)",
        limits::INDEX_FILES_MAX
    )]
    Files,
    #[error("looking at the workspace took longer than {} s (LOOK_TIME_MAX)", limits::LOOK_TIME_MAX.as_secs())]
    Time,
    #[error("the workspace could not be read")]
    Root,
}

/// One file, link, directory or other thing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexEntry {
    name: Box<[u8]>,
    stat: Stat,
    content: EntryContent,
    /// It changed so shortly before it was looked at that its stat data proves nothing.
    is_racy: bool,
}

/// Stat data of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stat {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, u32),
    changed: (i64, u32),
    mode: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryContent {
    /// Of a file's bytes, or of a link's target.
    Digest([u8; 32]),
    /// A pipe, socket or device: never opened.
    Special,
    /// Not read, so its stat data stands for it: too large for one look, or unreadable.
    Unread,
    /// A directory: only its mode counts.
    Directory,
}

impl Index {
    pub fn at(directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..Self::default() }
    }

    /// Without the files of a store.
    #[must_use]
    pub fn without(self, own: Vec<PathBuf>) -> Self {
        Self { own, ..self }
    }

    /// Without the audit files that are kept there.
    #[must_use]
    pub fn without_audit(self, audit: AuditFiles) -> Self {
        Self { audit, ..self }
    }

    /// With a smaller limit than `INDEX_FILES_MAX`.
    #[must_use]
    pub fn limited_to(self, files_max: usize) -> Self {
        Self { files_max: Some(files_max), ..self }
    }

    /// Looks at a workspace.
    pub fn look(&self, root: &Path, how: &How<'_>) -> Look {
        let before = self.load(root).unwrap_or_default();
        let began = self.clock();
        let files_max = self.files_max.unwrap_or(limits::INDEX_FILES_MAX);
        let own = self.own.iter().filter_map(|path| identity(path)).collect();
        let audit = root.to_str().and_then(|root| self.audit.within(root)).unwrap_or_default();
        let bounds = walk::WalkLimits { began, files_max, own, audit: audit.as_bytes() };
        let look = walk::walk(root, how, &before, &bounds);
        // Without what is saved, the next look only costs more.
        if how.is_only || look.partial.is_some() {
            if look.read > 0 {
                self.save(root, &look.over(before)).ok();
            }
        } else if !look.shows_the_same(&before) || look.read > RACY_FILES_UNSAVED_MAX {
            self.save(root, &look).ok();
        } else if look.read > 0 {
            self.remember(root, &look);
        }
        look
    }

    /// Whether this is a file of the store, which must not be opened.
    pub(crate) fn is_own(&self, meta: &Metadata) -> bool {
        self.own.iter().any(|path| identity(path) == Some((meta.dev(), meta.ino())))
    }

    /// A digest of everything in the scopes, or of the whole workspace where there are none: names, modes and contents,
    /// in a fixed order. `None` if not all of it could be read.
    pub fn tree_digest(&self, root: &Path, scopes: &[Scope]) -> Option<String> {
        if scopes.is_empty() {
            let small = self.clone().limited_to(limits::TREE_FILES_MAX);
            return small.look(root, &How::default()).tree_digest(&[Scope::everything()]);
        }
        self.look(root, &How { always: scopes, is_only: true, ..How::default() }).tree_digest(scopes)
    }
}

/// What names a file wherever it is.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

impl Look {
    pub fn partial(&self) -> Option<Partial> {
        self.partial
    }

    /// Files that were read for this look.
    pub fn files_read(&self) -> usize {
        self.read
    }

    pub fn files(&self) -> usize {
        let is_file = |entry: &&IndexEntry| entry.content != EntryContent::Directory;
        self.directories.values().map(|entries| entries.iter().filter(is_file).count()).sum()
    }

    pub fn rules(&self) -> &IgnoreRules {
        &self.rules
    }

    /// Whether the two differ at most in which files are racy. Where a racy file is not, it was read again.
    fn shows_the_same(&self, other: &Look) -> bool {
        let same_entry = |(one, two): (&IndexEntry, &IndexEntry)| {
            one.name == two.name && one.stat == two.stat && one.content == two.content
        };
        let same = |one: &[IndexEntry], two: &[IndexEntry]| {
            one.len() == two.len() && one.iter().zip(two).all(same_entry)
        };
        let mut pairs = self.directories.iter().zip(other.directories.iter());
        let is_one = Arc::ptr_eq(&self.directories, &other.directories);
        self.rules == other.rules
            && self.directories.len() == other.directories.len()
            && (is_one || pairs.all(|((a, one), (b, two))| a == b && same(one, two)))
    }

    /// An earlier look with what this one saw.
    fn over(&self, mut before: Look) -> Look {
        let directories = Arc::make_mut(&mut before.directories);
        for (directory, entries) in self.directories.iter() {
            let known = directories.entry(directory.clone()).or_default();
            known.retain(|old| entries.binary_search_by(|entry| entry.name.cmp(&old.name)).is_err());
            known.extend(entries.iter().cloned());
            known.sort_unstable_by(|one, two| one.name.cmp(&two.name));
        }
        before
    }

    /// The paths that differ from an earlier look: new, gone or changed. A directory that came or went is named only if
    /// nothing in it is. Bytes that are not text are shown as `\xNN`.
    pub fn changed_since(&self, before: &Look) -> Vec<String> {
        let (mut changed, mut directories) = (BTreeSet::new(), Vec::new());
        let mut names: Vec<&Vec<u8>> = before.directories.keys().chain(self.directories.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for directory in names {
            let old = before.directories.get(directory).map_or(&[][..], Vec::as_slice);
            let new = self.directories.get(directory).map_or(&[][..], Vec::as_slice);
            for (name, is_whole_directory) in differing(old, new) {
                let path = text(&joined(directory, name));
                if is_whole_directory {
                    directories.push(path);
                } else {
                    changed.insert(path);
                }
            }
        }
        // The innermost first, so that of several empty ones only the last is named.
        for path in directories.into_iter().rev() {
            let inside = format!("{path}/");
            if !changed.range(inside.clone()..).next().is_some_and(|next| next.starts_with(&inside)) {
                changed.insert(path);
            }
        }
        changed.into_iter().collect()
    }

    /// The same as [`Index::tree_digest`], of this look.
    pub fn tree_digest(&self, scopes: &[Scope]) -> Option<String> {
        if self.partial.is_some() {
            return None;
        }
        let mut running = digest::Running::default();
        for (path, entry) in self.inside(scopes) {
            let content = match entry.content {
                EntryContent::Digest(raw) => digest::printed(&raw),
                EntryContent::Special => "special".to_owned(),
                EntryContent::Unread => return None,
                EntryContent::Directory => continue,
            };
            running.update(format!("{path}\0{:o}\0{content}\n", entry.stat.mode).as_bytes());
        }
        Some(running.finish())
    }

    /// The digests of the files in the scopes. With more than `files_max` files it is marked as partial.
    pub fn snapshot(&self, scopes: &[Scope], files_max: usize) -> Snapshot {
        let mut snapshot = Snapshot { is_partial: self.partial.is_some(), ..Snapshot::default() };
        let is_file = |(_, entry): &(String, &IndexEntry)| entry.content != EntryContent::Directory;
        for (path, entry) in self.inside(scopes).filter(is_file) {
            if snapshot.files.len() == files_max {
                return Snapshot { is_partial: true, ..Snapshot::default() };
            }
            let name = Scope::parse(&path, None).map_or(path, |scope| scope.to_string());
            match entry.content {
                EntryContent::Digest(raw) => drop(snapshot.files.insert(name, digest::printed(&raw))),
                EntryContent::Special => drop(snapshot.files.insert(name, "special".to_owned())),
                EntryContent::Unread => snapshot.is_partial = true,
                EntryContent::Directory => {}
            }
        }
        snapshot
    }

    fn inside<'l>(&'l self, scopes: &'l [Scope]) -> impl Iterator<Item = (String, &'l IndexEntry)> {
        let files = self.directories.iter().flat_map(|(directory, entries)| {
            entries.iter().map(move |entry| (text(&joined(directory, &entry.name)), entry))
        });
        files.filter(|(path, _)| scopes.iter().any(|scope| covers(scope, path, false)))
    }
}

impl IndexEntry {
    fn of_directory(name: &[u8], stat: &Stat) -> Self {
        let stat = Stat { mode: stat.mode, ..Stat::default() };
        Self { name: name.into(), stat, content: EntryContent::Directory, is_racy: false }
    }

    /// Whether two looks saw the same. The same stat data is not enough: a racy file was read again.
    fn is_same(&self, other: &IndexEntry) -> bool {
        if self.stat.mode != other.stat.mode {
            return false;
        }
        match (self.content, other.content) {
            (EntryContent::Digest(one), EntryContent::Digest(two)) => one == two,
            (EntryContent::Directory, EntryContent::Directory) => true,
            (EntryContent::Special, EntryContent::Special) => {
                (self.stat.device, self.stat.inode) == (other.stat.device, other.stat.inode)
            }
            _ => self.stat == other.stat,
        }
    }
}

/// The names with different entries, and whether a directory was added or removed. Both lists are sorted by name.
fn differing<'e>(old: &'e [IndexEntry], new: &'e [IndexEntry]) -> impl Iterator<Item = (&'e [u8], bool)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let (one, two) = match (old.peek(), new.peek()) {
                (None, None) => return None,
                (Some(_), None) => (old.next(), None),
                (None, Some(_)) => (None, new.next()),
                (Some(one), Some(two)) => match one.name.cmp(&two.name) {
                    std::cmp::Ordering::Less => (old.next(), None),
                    std::cmp::Ordering::Greater => (None, new.next()),
                    std::cmp::Ordering::Equal => (old.next(), new.next()),
                },
            };
            match (one, two) {
                (Some(one), Some(two)) if one.is_same(two) => {}
                (Some(one), Some(_)) => return Some((&*one.name, false)),
                (one, two) => {
                    return one.or(two).map(|one| (&*one.name, one.content == EntryContent::Directory));
                }
            }
        }
    })
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

#[cfg(test)]
mod tests;
