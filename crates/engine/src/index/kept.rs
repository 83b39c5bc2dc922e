//! The stored form of looks: private files beside the store, replaced as a whole, with a checksum at the end.
//!
//! `HASH.idx` is the last look at the workspace with that path hash; `HASH.NAME.base` is the look that a task is
//! compared with when it ends, a link to the index of that moment.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use contract::digest;
use contract::domain::limits;

use super::walk::nanoseconds;
use super::{EntryContent, IgnoreRules, Index, IndexEntry, Last, Look, Stat, StoredIndex};

const MAGIC: &[u8] = b"writ-index 2\n";
const CHECKSUM_BYTES: usize = 32;
/// The file with the start time of a look as its mtime.
const CLOCK: &str = "clock";

impl Index {
    /// Keeps a look under a name, to compare with later. The first one under a name stays.
    pub fn keep(&self, root: &Path, name: &str, look: &Look) -> io::Result<()> {
        let Some(base) = self.base(root, name) else { return Ok(()) };
        if base.exists() || look.partial.is_some() {
            return Ok(());
        }
        self.make_room()?;
        if let Some(stored) = self.stored(root, look)
            && fs::hard_link(self.current(root).expect("BUG: there is a directory"), &base).is_ok()
        {
            // The index is the look unless another process has looked since.
            if StoredIndex::at(&base) == Some(stored) {
                return Ok(());
            }
            fs::remove_file(&base)?;
        }
        replace(&base, &written(root, look)).map(drop)
    }

    /// The file that was loaded or saved last, if it matches this look.
    fn stored(&self, root: &Path, look: &Look) -> Option<StoredIndex> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref().filter(|last| last.root == root)?;
        last.look.shows_the_same(look).then_some(last.stored)
    }

    /// The look that was kept under a name. `None` if it is gone or damaged.
    pub fn kept(&self, root: &Path, name: &str) -> Option<Look> {
        read(&self.base(root, name)?, root)
    }

    /// Removes what was kept under a name.
    pub fn forget(&self, root: &Path, name: &str) {
        if let Some(base) = self.base(root, name) {
            // What is left is removed when there are too many.
            fs::remove_file(base).ok();
        }
    }

    pub(super) fn load(&self, root: &Path) -> Option<Look> {
        let path = self.current(root)?;
        let stored = StoredIndex::at(&path)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.root == root && last.stored == stored) {
            return Some(last.look.clone());
        }
        // If it is replaced meanwhile, the next one to ask sees another file.
        let look = read(&path, root)?;
        *last = Some(Last { root: root.to_owned(), stored, look: look.clone() });
        Some(look)
    }

    /// Keeps a look in memory that differs from the file in racy files only.
    pub(super) fn remember(&self, root: &Path, look: &Look) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_mut().filter(|last| last.root == root && last.look.shows_the_same(look)) {
            last.look = look.clone();
        }
    }

    pub(super) fn save(&self, root: &Path, look: &Look) -> io::Result<()> {
        let Some(current) = self.current(root) else { return Ok(()) };
        if !current.exists() {
            self.make_room()?;
        }
        let stored = replace(&current, &written(root, look))?;
        let look = Look { partial: None, read: 0, ..look.clone() };
        let last = Last { root: root.to_owned(), stored, look };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok(())
    }

    /// The time now by the clock that stamps files, in nanoseconds. Without one, every file counts as just changed.
    pub(super) fn clock(&self) -> i64 {
        let stamp = || {
            let directory = self.made()?;
            let mut file = private().truncate(true).open(directory.join(CLOCK))?;
            file.write_all(b"\n")?;
            let meta = file.metadata()?;
            io::Result::Ok(nanoseconds((meta.mtime(), u32::try_from(meta.mtime_nsec()).unwrap_or(0))))
        };
        stamp().unwrap_or(i64::MIN)
    }

    fn current(&self, root: &Path) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}.idx", hash(root))))
    }

    fn base(&self, root: &Path, name: &str) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}.{name}.base", hash(root))))
    }

    fn made(&self) -> io::Result<&Path> {
        let directory = self.directory.as_deref().ok_or(io::ErrorKind::NotFound)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(directory)
    }

    /// Removes the oldest files until there is room for one more.
    fn make_room(&self) -> io::Result<()> {
        let mut files: Vec<(i64, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(self.made()?)?.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_file() && entry.file_name() != CLOCK {
                files.push((meta.ctime(), meta.size(), entry.path()));
            }
        }
        files.sort_unstable();
        let mut bytes: u64 = files.iter().map(|(_, size, _)| size).sum();
        let mut count = files.len();
        for (_, size, path) in files {
            if count < limits::INDEXES_MAX && bytes < limits::INDEXES_BYTES_MAX {
                break;
            }
            fs::remove_file(path).ok();
            count -= 1;
            bytes = bytes.saturating_sub(size);
        }
        Ok(())
    }
}

fn hash(root: &Path) -> String {
    digest::of_bytes(root.as_os_str().as_bytes())["sha256:".len()..][..32].to_owned()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

impl StoredIndex {
    pub(super) fn of(meta: &fs::Metadata) -> Self {
        let modified = (meta.mtime(), meta.mtime_nsec());
        Self { device: meta.dev(), inode: meta.ino(), size: meta.size(), modified }
    }

    fn at(path: &Path) -> Option<Self> {
        Some(Self::of(&fs::metadata(path).ok()?))
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<StoredIndex> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.tmp", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let write = |mut file: fs::File| {
        file.write_all(bytes)?;
        Ok(StoredIndex::of(&file.metadata()?))
    };
    let written = private().truncate(true).open(&fresh).and_then(write);
    let replaced = written.and_then(|stored| fs::rename(&fresh, path).map(|()| stored));
    if replaced.is_err() {
        fs::remove_file(&fresh).ok();
    }
    replaced
}

fn read(path: &Path, root: &Path) -> Option<Look> {
    let bytes = fs::read(path).ok()?;
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    if digest::raw_of_bytes(body) != *checksum {
        return None;
    }
    let mut reader = Reader(body.strip_prefix(MAGIC)?);
    (reader.bytes()? == root.as_os_str().as_bytes()).then_some(())?;
    let look = reader.look()?;
    reader.0.is_empty().then_some(look)
}

fn written(root: &Path, look: &Look) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256 + look.files() * 128);
    bytes.extend_from_slice(MAGIC);
    put_bytes(&mut bytes, root.as_os_str().as_bytes());
    put_count(&mut bytes, look.rules.above.len());
    put_count(&mut bytes, look.rules.inside.len());
    for (one, two) in look.rules.above.iter().map(|(a, b)| (a, b)).chain(&look.rules.inside) {
        put_bytes(&mut bytes, one);
        put_bytes(&mut bytes, two);
    }
    put_count(&mut bytes, look.directories.len());
    for (path, entries) in look.directories.iter() {
        put_bytes(&mut bytes, path);
        put_count(&mut bytes, entries.len());
        entries.iter().for_each(|entry| put_entry(&mut bytes, entry));
    }
    let checksum = digest::raw_of_bytes(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("BUG: every part of a look is bounded");
    bytes.extend_from_slice(&count.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    put_count(bytes, text.len());
    bytes.extend_from_slice(text);
}

fn put_entry(bytes: &mut Vec<u8>, entry: &IndexEntry) {
    put_bytes(bytes, &entry.name);
    let Stat { device, inode, size, modified, changed, mode } = entry.stat;
    for number in [device, inode, size] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for (seconds, part) in [modified, changed] {
        bytes.extend_from_slice(&seconds.to_le_bytes());
        bytes.extend_from_slice(&part.to_le_bytes());
    }
    bytes.extend_from_slice(&mode.to_le_bytes());
    let (tag, digest) = match &entry.content {
        EntryContent::Digest(raw) => (0, &raw[..]),
        EntryContent::Special => (1, &[][..]),
        EntryContent::Unread => (2, &[][..]),
        EntryContent::Directory => (3, &[][..]),
    };
    bytes.push(tag | if entry.is_racy { 4 } else { 0 });
    bytes.extend_from_slice(digest);
}

/// Reads what was written; `None` where something else follows.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    fn look(&mut self) -> Option<Look> {
        let (above, inside) = (self.count()?, self.count()?);
        let mut rules = IgnoreRules::default();
        for _ in 0..above {
            rules.above.push((self.bytes()?.to_vec(), self.bytes()?.to_vec()));
        }
        for _ in 0..inside {
            rules.inside.insert(self.bytes()?.to_vec(), self.bytes()?.to_vec());
        }
        let mut directories = BTreeMap::new();
        for _ in 0..self.count()? {
            let path = self.bytes()?.to_vec();
            let count = self.count()?;
            let mut entries = Vec::with_capacity(count.min(self.0.len()));
            for _ in 0..count {
                entries.push(self.entry()?);
            }
            directories.insert(path, entries);
        }
        Some(Look { directories: Arc::new(directories), rules, ..Look::default() })
    }

    fn entry(&mut self) -> Option<IndexEntry> {
        let name = self.bytes()?.into();
        let stat = Stat {
            device: u64::from_le_bytes(self.array()?),
            inode: u64::from_le_bytes(self.array()?),
            size: u64::from_le_bytes(self.array()?),
            modified: (i64::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?)),
            changed: (i64::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?)),
            mode: u32::from_le_bytes(self.array()?),
        };
        let [flags] = self.array()?;
        let content = match flags & 3 {
            0 => EntryContent::Digest(self.array()?),
            1 => EntryContent::Special,
            2 => EntryContent::Unread,
            _ => EntryContent::Directory,
        };
        Some(IndexEntry { name, stat, content, is_racy: flags & 4 != 0 })
    }
}
