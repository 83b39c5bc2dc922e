//! The content store: one file per content, named by its digest, which it gets when it is on the disk.
//!
//! So a name can be trusted even after the power failed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use contract::digest;

pub(super) type Digest = [u8; 32];

/// Runs of zeros of this length are left out of copies, so that sparse files stay sparse.
const PAGE: usize = 4096;
const BUFFER: usize = 16 * PAGE;
static ZEROS: [u8; PAGE] = [0; PAGE];

/// So many new contents are synced one by one. More are synced with the whole file system, which then also waits for
/// what other programs have written there.
const SYNCED_ALONE_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Objects {
    directory: PathBuf,
    /// Contents that were put and are not synced yet, with their lengths, under temporary names.
    fresh: RefCell<BTreeMap<Digest, (PathBuf, u64)>>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        for (path, _) in self.fresh.get_mut().values() {
            // A collection removes what is left.
            fs::remove_file(path).ok();
        }
    }
}

/// What was put into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredObject {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    /// It shares its blocks with the file it was taken from.
    pub(super) is_cloned: bool,
    pub(super) is_new: bool,
}

/// How much of a file is read, and until when: a task may leave one of any size.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadLimits {
    pub(super) bytes_max: u64,
    pub(super) deadline: Option<Instant>,
}

impl ReadLimits {
    /// For contents that were bounded when they were taken in.
    pub(super) const NONE: ReadLimits = ReadLimits { bytes_max: u64::MAX, deadline: None };

    /// Why a file is not read any further.
    pub(super) fn check(&self, bytes: u64) -> io::Result<()> {
        if bytes > self.bytes_max {
            return Err(io::Error::other(self.too_large()));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(io::Error::other("the snapshot took too long (SNAPSHOT_TIME_MAX)"));
        }
        Ok(())
    }

    pub(super) fn too_large(&self) -> String {
        format!("it is larger than {} bytes (SNAPSHOT_FILE_BYTES_MAX)", self.bytes_max)
    }
}

/// How a copy was made.
pub(super) struct Copied {
    digest: Digest,
    bytes: u64,
    is_cloned: bool,
}

impl Objects {
    pub(super) fn at(snapshots: &Path) -> io::Result<Self> {
        let directory = snapshots.join("objects");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory.join("tmp"))?;
        Ok(Self { directory, fresh: RefCell::default() })
    }

    /// Without making anything.
    pub(super) fn as_they_are(snapshots: &Path) -> Self {
        Self { directory: snapshots.join("objects"), fresh: RefCell::default() }
    }

    /// Whether it has a content of this length. One that is shorter was not written by this version.
    pub(super) fn has(&self, digest: &Digest, length: u64) -> bool {
        self.length(digest) == Some(length)
    }

    /// Whether it has a content of whatever length: the target of a link.
    pub(super) fn has_some(&self, digest: &Digest) -> bool {
        self.length(digest).is_some()
    }

    fn length(&self, digest: &Digest) -> Option<u64> {
        let fresh = self.fresh.borrow().get(digest).map(|(_, length)| *length);
        fresh.or_else(|| fs::metadata(self.path(digest)).ok().map(|meta| meta.len()))
    }

    pub(super) fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest::printed(digest);
        let name = &name["sha256:".len()..];
        self.directory.join(&name[..2]).join(&name[2..])
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes in what a file contains now.
    pub(super) fn put_file(&self, from: &File, bounds: &ReadLimits) -> io::Result<StoredObject> {
        let fresh = self.temporary();
        let put = || {
            let into = private().open(&fresh)?;
            let Copied { digest, bytes, is_cloned } = copy(from, &into, bounds)?;
            let is_new = self.place(&fresh, digest, bytes)?;
            Ok(StoredObject { digest, bytes, is_cloned, is_new })
        };
        let stored = put();
        if stored.is_err() {
            fs::remove_file(&fresh).ok();
        }
        stored
    }

    /// Stores bytes, such as the target of a link. Also returns whether they are new.
    pub(super) fn put_bytes(&self, bytes: &[u8]) -> io::Result<(Digest, bool)> {
        let digest = digest::raw_of_bytes(bytes);
        let length = bytes.len() as u64;
        if self.has(&digest, length) {
            return Ok((digest, false));
        }
        let fresh = self.temporary();
        private().open(&fresh)?.write_all_at(bytes, 0)?;
        Ok((digest, self.place(&fresh, digest, length)?))
    }

    pub(super) fn read(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.path(digest))?;
        if digest::raw_of_bytes(&bytes) == *digest { Ok(bytes) } else { Err(damaged()) }
    }

    /// Copies a content into an empty file.
    pub(super) fn copy_to(&self, digest: &Digest, into: &File) -> io::Result<()> {
        let from = File::open(self.path(digest))?;
        let copied = copy(&from, into, &ReadLimits::NONE)?;
        if copied.digest == *digest { Ok(()) } else { Err(damaged()) }
    }

    /// Makes sure that everything that was put is on the disk, and gives it its name.
    pub(super) fn sync(&self) -> io::Result<()> {
        let mut fresh = self.fresh.borrow_mut();
        if fresh.is_empty() {
            return Ok(());
        }
        if fresh.len() > SYNCED_ALONE_MAX {
            sync_around(&File::open(&self.directory)?)?;
        } else {
            fresh.values().try_for_each(|(path, _)| File::open(path)?.sync_all())?;
        }
        let mut directories = BTreeSet::from([self.directory.clone()]);
        while let Some((digest, (from, _))) = fresh.pop_first() {
            let path = self.path(&digest);
            let parent = path.parent().expect("BUG: it was joined to one").to_owned();
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
            fs::rename(from, &path)?;
            directories.insert(parent);
        }
        directories.iter().try_for_each(|path| File::open(path)?.sync_all())
    }

    /// Keeps what was written until it is synced. False if it is there already.
    fn place(&self, fresh: &Path, digest: Digest, length: u64) -> io::Result<bool> {
        if self.has(&digest, length) {
            fs::remove_file(fresh)?;
            return Ok(false);
        }
        self.fresh.borrow_mut().insert(digest, (fresh.to_owned(), length));
        Ok(true)
    }

    fn temporary(&self) -> PathBuf {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.directory.join("tmp").join(format!("{}-{number}", std::process::id()))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the stored content is damaged")
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    options
}

/// Makes sure that what was written on the file system of this directory is on the disk. One call for many files.
pub(super) fn sync_around(directory: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    let synced = rustix::fs::syncfs(directory).map_err(io::Error::from);
    #[cfg(not(target_os = "linux"))]
    let synced = directory.sync_all();
    synced
}

/// Copies a file by sharing its blocks where the file system can, and otherwise without its holes.
pub(super) fn copy(from: &File, into: &File, bounds: &ReadLimits) -> io::Result<Copied> {
    bounds.check(from.metadata()?.len())?;
    #[cfg(target_os = "linux")]
    if rustix::fs::ioctl_ficlone(into, from).is_ok() {
        let (digest, bytes) = digest_of(into, bounds)?;
        return Ok(Copied { digest, bytes, is_cloned: true });
    }
    let mut from = from;
    from.seek(SeekFrom::Start(0))?;
    let mut running = digest::Running::default();
    let mut buffer = vec![0; BUFFER];
    let mut at = 0;
    loop {
        let got = filled(from, &mut buffer)?;
        let read = &buffer[..got];
        running.update(read);
        for (index, page) in read.chunks(PAGE).enumerate() {
            if *page != ZEROS[..page.len()] {
                into.write_all_at(page, at + (index * PAGE) as u64)?;
            }
        }
        at += got as u64;
        bounds.check(at)?;
        if got < buffer.len() {
            break;
        }
    }
    into.set_len(at)?;
    Ok(Copied { digest: running.finish_raw(), bytes: at, is_cloned: false })
}

/// The digest and the length of a file.
pub(super) fn digest_of(file: &File, bounds: &ReadLimits) -> io::Result<(Digest, u64)> {
    bounds.check(file.metadata()?.len())?;
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    let mut running = digest::Running::default();
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    loop {
        let got = filled(file, &mut buffer)?;
        running.update(&buffer[..got]);
        length += got as u64;
        bounds.check(length)?;
        if got < buffer.len() {
            return Ok((running.finish_raw(), length));
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn filled(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(got) => length += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
