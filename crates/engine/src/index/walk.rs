//! Walks a workspace and reads what its stat data does not already tell.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use contract::digest;
use contract::domain::limits;
use contract::domain::outside::GIT_GUARDED;
use contract::domain::scope::Scope;

use super::git::{Repository, Tracked};
use super::names::kept;
use super::nodes::FreshLook;
use super::rules::{self, Chain};
use super::{EntryContent, How, IgnoreRules, IndexEntry, Look, Partial, Stat, joined};
use crate::regular_file;

/// Time stamps have the resolution of the system's tick; some file systems count whole seconds.
const TICK_NANOSECONDS: i64 = 20_000_000;
const COARSE_NANOSECONDS: i64 = 2_000_000_000;

/// A directory that is still to be read.
struct Pending {
    path: Vec<u8>,
    chain: Chain,
    /// How it was reached.
    part: WalkPart,
    stat: Stat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkPart {
    /// The rules decide what is looked at.
    Usual,
    /// Ignored, but something inside is looked at anyway.
    OnTheWay,
    /// Everything in it is looked at.
    Always,
    /// A `.git` directory, and the directory `info` in it.
    Git,
    GitInfo,
}

struct TreeWalk<'w> {
    root: &'w Path,
    how: &'w How<'w>,
    before: &'w Look,
    bounds: &'w WalkLimits<'w>,
    deadline: Instant,
    pending: Vec<Pending>,
    directories: BTreeMap<Vec<u8>, Vec<IndexEntry>>,
    files: usize,
    read: usize,
    bytes_left: u64,
    rule_bytes_left: usize,
    rules: IgnoreRules,
    repository: Option<Repository>,
    /// Read when something is ignored.
    tracked: OnceCell<Tracked>,
    seen: FreshLook,
}

/// What a walk must know besides the tree.
pub(super) struct WalkLimits<'b> {
    /// The time of the look in nanoseconds, by the clock of the files.
    pub(super) began: i64,
    pub(super) files_max: usize,
    /// Device and inode of what is never looked at.
    pub(super) own: BTreeSet<(u64, u64)>,
    /// Where writ keeps audit files; empty if that is not in the workspace.
    pub(super) audit: &'b [u8],
}

pub(super) fn walk(root: &Path, how: &How<'_>, before: &Look, bounds: &WalkLimits<'_>) -> Look {
    let repository = Repository::of(root);
    let rules = how.rules.cloned().unwrap_or_else(|| IgnoreRules::of_root(root, repository.as_ref()));
    let chain = Chain::of(&rules);
    let mut walk = TreeWalk {
        root,
        how,
        before,
        bounds,
        deadline: Instant::now() + limits::LOOK_TIME_MAX,
        pending: Vec::new(),
        directories: BTreeMap::new(),
        files: 0,
        read: 0,
        bytes_left: limits::LOOK_BYTES_MAX,
        rule_bytes_left: limits::IGNORE_BYTES_MAX,
        rules,
        repository,
        tracked: OnceCell::new(),
        seen: FreshLook::default(),
    };
    walk.begin(chain);
    let partial = walk.run();
    let TreeWalk { directories, rules, read, seen, .. } = walk;
    Look { directories: Arc::new(directories), rules, partial, read, seen: Arc::new(seen) }
}

impl TreeWalk<'_> {
    /// Begins at the root, or at what alone is looked at.
    fn begin(&mut self, chain: Chain) {
        let everything = Pending { path: Vec::new(), chain, part: WalkPart::Usual, stat: Stat::default() };
        let is_everything = |scope: &Scope| *scope == Scope::everything();
        if !self.how.is_only || self.how.always.iter().any(is_everything) {
            self.pending.push(everything);
            return self.begin_at_git(|path| path != b".git");
        }
        if self.how.always.is_empty() {
            return self.begin_at_git(|_| true);
        }
        let mut paths: Vec<&[u8]> = self.how.always.iter().map(|scope| scope.as_str().as_bytes()).collect();
        paths.sort_unstable();
        paths.dedup();
        for &path in paths.iter().filter(|path| !paths.iter().any(|outer| outer != *path && has(outer, path)))
        {
            let here = self.root.join(OsStr::from_bytes(path));
            let Ok(meta) = fs::symlink_metadata(&here) else { continue };
            if self.is_own(&meta) || self.is_audit(path) {
                continue;
            }
            if meta.is_dir() {
                let chain = everything.chain.clone();
                self.pending.push(Pending {
                    path: path.to_vec(),
                    chain,
                    part: WalkPart::Always,
                    stat: Stat::of(&meta),
                });
                continue;
            }
            let (parent, name) = split(path);
            let known = self.before.directories.get(&*kept(parent)).map_or(&[][..], Vec::as_slice);
            let entry = self.entry(name, here.parent().unwrap_or(self.root), &meta, old(known, name));
            self.files += 1;
            self.note_real(&kept(parent), &entry, path.to_vec());
            self.add(parent.to_vec(), vec![entry]);
        }
    }

    /// Git's own directories, which need not be in the workspace.
    fn begin_at_git(&mut self, is_wanted: impl Fn(&[u8]) -> bool) {
        let directories = self.repository.as_ref().map(|repository| repository.directories(self.root));
        for path in directories.into_iter().flatten().filter(|path| is_wanted(path)) {
            self.pending.push(Pending {
                path,
                chain: Chain::default(),
                part: WalkPart::Git,
                stat: Stat::default(),
            });
        }
    }

    fn run(&mut self) -> Option<Partial> {
        if !self.root.is_dir() {
            return Some(Partial::Root);
        }
        while let Some(directory) = self.pending.pop() {
            if self.files > self.bounds.files_max {
                return Some(Partial::Files);
            }
            if Instant::now() > self.deadline {
                return Some(Partial::Time);
            }
            self.visit(directory);
        }
        (self.files > self.bounds.files_max).then_some(Partial::Files)
    }

    fn visit(&mut self, mut directory: Pending) {
        let here = self.root.join(OsStr::from_bytes(&directory.path));
        let Ok(listing) = fs::read_dir(&here) else {
            return self.note_closed(&directory.path, directory.stat);
        };
        if matches!(directory.part, WalkPart::Git) && self.how.is_only {
            self.seen.repositories.push(directory.path.clone());
        }
        if !matches!(directory.part, WalkPart::Git | WalkPart::GitInfo) {
            if self.how.is_only && !directory.path.is_empty() && !self.is_above_audit(&directory.path) {
                self.seen.directories.push((directory.path.clone(), directory.stat.mode));
            }
            directory.chain = self.with_rules(directory.chain, &directory.path, &here);
        }
        let kept_path = kept(&directory.path).into_owned();
        let known = self.before.directories.get(&kept_path).map_or(&[][..], Vec::as_slice);
        let mut entries = Vec::with_capacity(known.len());
        for entry in listing.flatten() {
            // What is gone again was never there.
            let Ok(meta) = entry.metadata() else { continue };
            let name = entry.file_name();
            let name = name.as_bytes();
            let path = joined(&directory.path, name);
            if self.is_never(&path) || self.is_own(&meta) || self.is_audit(&path) {
                continue;
            }
            let Some(part) = self.part(&directory, name, &path, meta.is_dir()) else {
                self.note_ignored(&directory, path);
                continue;
            };
            if meta.is_dir() {
                let stat = Stat::of(&meta);
                if matches!(part, WalkPart::Usual | WalkPart::Always) && !self.is_above_audit(&path) {
                    entries.push(IndexEntry::of_directory(&kept(name), &stat));
                }
                self.pending.push(Pending { path, chain: directory.chain.clone(), part, stat });
            } else if part != WalkPart::OnTheWay {
                let entry = self.entry(name, &here, &meta, old(known, name));
                self.note_real(&kept_path, &entry, path);
                entries.push(entry);
                self.files += 1;
                if self.files > self.bounds.files_max {
                    break;
                }
            }
        }
        if !entries.is_empty() {
            entries.sort_unstable_by(|one, two| one.name.cmp(&two.name));
            self.add(directory.path, entries);
        }
    }

    fn add(&mut self, directory: Vec<u8>, entries: Vec<IndexEntry>) {
        let all = self.directories.entry(kept(&directory).into_owned()).or_default();
        all.extend(entries);
        all.sort_unstable_by(|one, two| one.name.cmp(&two.name));
    }

    /// A path that the rules ignore. Of git's own files, those that are not watched are not ignored but git's.
    fn note_ignored(&mut self, directory: &Pending, path: Vec<u8>) {
        if self.how.is_only && matches!(directory.part, WalkPart::Usual | WalkPart::OnTheWay) {
            self.seen.ignored.push(path);
        }
    }

    /// The path of an entry that is kept under another one.
    fn note_real(&mut self, directory: &[u8], entry: &IndexEntry, path: Vec<u8>) {
        let (parent, name) = split(&path);
        if self.how.is_only && (parent, name) != (directory, &*entry.name) {
            self.seen.real.insert(joined(directory, &entry.name), path);
        }
    }

    /// How one thing in a directory is looked at; `None` if it is not.
    fn part(&self, directory: &Pending, name: &[u8], path: &[u8], is_directory: bool) -> Option<WalkPart> {
        match directory.part {
            WalkPart::Git if is_directory && name == b"info" => Some(WalkPart::GitInfo),
            WalkPart::Git => is_guarded(name).then_some(WalkPart::Always),
            WalkPart::GitInfo => is_guarded(&joined(b"info", name)).then_some(WalkPart::Always),
            WalkPart::Always if is_directory && name == b".git" => Some(WalkPart::Git),
            WalkPart::Always => Some(WalkPart::Always),
            WalkPart::Usual if is_directory && name == b".git" => Some(WalkPart::Git),
            WalkPart::Usual if !directory.chain.ignores(path, is_directory) => {
                Some(match self.wanted(path) {
                    WalkPart::Always => WalkPart::Always,
                    WalkPart::Usual | WalkPart::OnTheWay | WalkPart::Git | WalkPart::GitInfo => {
                        WalkPart::Usual
                    }
                })
            }
            WalkPart::Usual | WalkPart::OnTheWay => match self.wanted(path) {
                // Git ignores nothing that it tracks.
                WalkPart::Usual if !self.is_tracked(path, is_directory) => None,
                WalkPart::Usual if !is_directory => Some(WalkPart::Always),
                WalkPart::Usual => Some(WalkPart::OnTheWay),
                wanted => Some(wanted),
            },
        }
    }

    /// What the scopes that are always looked at say about a path.
    fn wanted(&self, path: &[u8]) -> WalkPart {
        let mut part = WalkPart::Usual;
        for scope in self.how.always {
            if has(scope.as_str().as_bytes(), path) {
                return WalkPart::Always;
            }
            if has(path, scope.as_str().as_bytes()) {
                part = WalkPart::OnTheWay;
            }
        }
        part
    }

    fn is_never(&self, path: &[u8]) -> bool {
        let is = |scope: &Scope| scope.as_str().as_bytes() == path;
        self.how.never.iter().any(is) && self.wanted(path) == WalkPart::Usual
    }

    fn is_tracked(&self, path: &[u8], is_directory: bool) -> bool {
        let Some(repository) = &self.repository else { return false };
        self.tracked.get_or_init(|| repository.tracked()).has(path, is_directory)
    }

    fn is_own(&self, meta: &fs::Metadata) -> bool {
        self.bounds.own.contains(&(meta.dev(), meta.ino()))
    }

    fn is_audit(&self, path: &[u8]) -> bool {
        !self.bounds.audit.is_empty() && has(self.bounds.audit, path)
    }

    /// A directory that writ may have made for its audit files. What else is in it counts; the directory does not.
    fn is_above_audit(&self, path: &[u8]) -> bool {
        has(path, self.bounds.audit)
    }

    fn with_rules(&mut self, chain: Chain, path: &[u8], here: &Path) -> Chain {
        if self.how.rules.is_none()
            && let Some(file) = rules::read(&here.join(".gitignore"), &mut self.rule_bytes_left)
        {
            self.rules.inside.insert(kept(path).into_owned(), file);
        }
        match self.rules.inside.get(&*kept(path)) {
            Some(file) => chain.inside(path, file),
            None => chain,
        }
    }

    /// A directory that cannot be read is seen by its stat data, so that one that was opened meanwhile differs.
    fn note_closed(&mut self, path: &[u8], stat: Stat) {
        let real = path.to_vec();
        let path = kept(path);
        let (parent, name) = split(&path);
        let entry = IndexEntry { name: name.into(), stat, content: EntryContent::Unread, is_racy: false };
        self.files += 1;
        self.note_real(parent, &entry, real);
        let (parent, name) = (parent.to_vec(), name.to_vec());
        self.directories.entry(parent.clone()).or_default().retain(|other| *other.name != name[..]);
        self.add(parent, vec![entry]);
    }

    fn entry(
        &mut self,
        name: &[u8],
        here: &Path,
        meta: &fs::Metadata,
        old: Option<&IndexEntry>,
    ) -> IndexEntry {
        let stat = Stat::of(meta);
        let is_known =
            |old: &&IndexEntry| old.stat == stat && !old.is_racy && old.content != EntryContent::Unread;
        if let Some(old) = old.filter(is_known) {
            return old.clone();
        }
        let is_racy = stat.is_racy(self.bounds.began);
        let kind = meta.file_type();
        let content = if kind.is_file() {
            self.content(&here.join(OsStr::from_bytes(name)), meta.len())
        } else if kind.is_symlink() {
            let target = fs::read_link(here.join(OsStr::from_bytes(name)));
            target.map_or(EntryContent::Unread, |to| {
                EntryContent::Digest(digest::raw_of_bytes(to.as_os_str().as_bytes()))
            })
        } else {
            EntryContent::Special
        };
        IndexEntry { name: kept(name).into(), stat, content, is_racy }
    }

    fn content(&mut self, path: &Path, length: u64) -> EntryContent {
        let Some(left) = self.bytes_left.checked_sub(length) else { return EntryContent::Unread };
        if Instant::now() > self.deadline {
            return EntryContent::Unread;
        }
        self.bytes_left = left;
        self.read += 1;
        // A file that grows while it is read must not hold up the look. It is racy, so the next look reads it again.
        let digest = regular_file::open(path).and_then(|mut file| regular_file::digest(&mut file, length));
        digest.map_or(EntryContent::Unread, |digested| EntryContent::Digest(digested.running.finish_raw()))
    }
}

/// Whether this path of git's own directory is watched.
fn is_guarded(path: &[u8]) -> bool {
    GIT_GUARDED.iter().any(|guarded| guarded.as_bytes() == path)
}

/// Whether a path is another one, or below it.
fn has(outer: &[u8], inner: &[u8]) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// A path as its directory and its name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[][..], path),
    }
}

/// What was known about a name.
fn old<'e>(known: &'e [IndexEntry], name: &[u8]) -> Option<&'e IndexEntry> {
    let name = kept(name);
    known.binary_search_by(|known| (*known.name).cmp(&*name)).ok().map(|at| &known[at])
}

impl Stat {
    pub(super) fn of(meta: &fs::Metadata) -> Self {
        let part = |nanoseconds: i64| u32::try_from(nanoseconds).unwrap_or(0);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), part(meta.mtime_nsec())),
            changed: (meta.ctime(), part(meta.ctime_nsec())),
            mode: meta.mode(),
        }
    }

    /// Whether the file may have changed in the instant of the look, or after it.
    fn is_racy(&self, began: i64) -> bool {
        let newest = self.modified.max(self.changed);
        let is_coarse = self.modified.1 == 0 && self.changed.1 == 0;
        let slack = if is_coarse { COARSE_NANOSECONDS } else { TICK_NANOSECONDS };
        nanoseconds(newest) >= began.saturating_sub(slack)
    }
}

pub(super) fn nanoseconds((seconds, part): (i64, u32)) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(part))
}
