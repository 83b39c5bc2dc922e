//! Temporary files and directories, locked while they are used: what a killed process left is recognized and removed.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};

use crate::error::{Error, Result};
use crate::key::hex;
use crate::whole_file::{beside, directory, private, random};

/// How often another name is tried.
const NAMES_MAX: usize = 16;
const RANDOM_BYTES: usize = 16;

/// Removed at the end.
pub(crate) struct HeldFile {
    path: PathBuf,
    /// Locked as long as this process uses it.
    _lock: fs::File,
}

#[derive(Debug, Clone, Copy)]
enum HeldKind {
    File,
    Directory,
}

impl HeldFile {
    /// An empty file of this user alone, whose name begins with `start`.
    pub(crate) fn file(start: &Path) -> Result<Self> {
        Self::new(start, HeldKind::File)
    }

    /// An empty directory of this user alone.
    pub(crate) fn directory(start: &Path) -> Result<Self> {
        Self::new(start, HeldKind::Directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn new(start: &Path, kind: HeldKind) -> Result<Self> {
        remove_leftovers(start);
        let failed = |source| Error::Output { path: start.to_owned(), source };
        for _ in 0..NAMES_MAX {
            let path = beside(start, &hex(&random::<RANDOM_BYTES>().map_err(failed)?));
            match make(&path, kind).and_then(|()| locked(&path)) {
                Ok(Some(lock)) => return Ok(Self { path, _lock: lock }),
                // Another process took it for a leftover before it was locked.
                Ok(None) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
                {
                    // Without its directory there is no name that can be had.
                    if !directory(start).is_dir() {
                        return Err(failed(error));
                    }
                }
                Err(source) => return Err(Error::Output { path, source }),
            }
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // The next one removes what stays.
        remove(&self.path);
    }
}

fn make(path: &Path, kind: HeldKind) -> io::Result<()> {
    match kind {
        HeldKind::File => private().create_new(true).open(path).map(|_| ()),
        HeldKind::Directory => fs::DirBuilder::new().mode(0o700).create(path),
    }
}

/// Locks what is under this name, if nobody else has. Never follows a link, and never touches what another user made.
fn locked(path: &Path) -> io::Result<Option<fs::File>> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).expect("BUG: a flag of open(2)");
    let file = fs::OpenOptions::new().read(true).custom_flags(no_follow).open(path)?;
    let found = file.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw()
        || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Ok(None);
    }
    let still = fs::symlink_metadata(path)?;
    Ok((still.dev() == found.dev() && still.ino() == found.ino()).then_some(file))
}

/// Removes what nobody holds any more.
pub(crate) fn remove_leftovers(start: &Path) {
    let Some(start_name) = start.file_name().and_then(|name| name.to_str()) else { return };
    // A directory that cannot be listed is reported when something is made in it.
    let Ok(entries) = fs::read_dir(directory(start)) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(start_name))
    {
        let path = entry.path();
        // Only what a name of ours can be: files and directories, not pipes that would block.
        let is_ours = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
        if is_ours && let Ok(Some(_lock)) = locked(&path) {
            remove(&path);
        }
    }
}

fn remove(path: &Path) {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    // What cannot be removed now is removed by the next one.
    if is_directory {
        fs::remove_dir_all(path).ok()
    } else {
        fs::remove_file(path).ok()
    };
}

#[cfg(test)]
mod tests;
