//! The files of an audit trail. The store can derive each of them again, so none is ever waited for.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The directory at this path in a workspace, made where it is missing. No link is followed: a task may have made it.
pub fn in_workspace(workspace: &Path, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(CWD, workspace, flags, Mode::empty())?;
    for step in path.split('/').filter(|step| !matches!(*step, "" | ".")) {
        if step == ".." {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{path}` leaves the workspace"),
            ));
        }
        match rustix::fs::mkdirat(&directory, step, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        directory = rustix::fs::openat(&directory, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(directory)
}

/// A directory that the user named, made where it is missing.
pub fn named(directory: &Path) -> io::Result<OwnedFd> {
    std::fs::create_dir_all(directory)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, directory, flags, Mode::empty())?)
}

/// Writes the files that are not there or differ, each whole or not at all. Says how many.
pub fn write(directory: &OwnedFd, files: &[(String, Vec<u8>)]) -> io::Result<usize> {
    let mut written = 0;
    for (name, bytes) in files {
        if !is_there(directory, name, bytes) {
            replace(directory, name, bytes)?;
            written += 1;
        }
    }
    Ok(written)
}

fn is_there(directory: &OwnedFd, name: &str, bytes: &[u8]) -> bool {
    // A pipe in the place of the file must not make us wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(found) = rustix::fs::openat(directory, name, flags, Mode::empty()) else { return false };
    let is_file = |stat: rustix::fs::Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && u64::try_from(stat.st_size).is_ok_and(|size| size == bytes.len() as u64)
    };
    if !rustix::fs::fstat(&found).is_ok_and(is_file) {
        return false;
    }
    let mut content = Vec::with_capacity(bytes.len());
    File::from(found).take(bytes.len() as u64).read_to_end(&mut content).is_ok() && content == bytes
}

/// The new file takes the place of whatever has its name; a link there is replaced, not followed.
fn replace(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = format!(".{}.{}.tmp", &name[name.len().saturating_sub(DRAFT_CHARS)..], std::process::id());
    // A draft that an engine left when it was killed, or that a task put there.
    match rustix::fs::unlinkat(directory, &draft, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(directory, &draft, flags, Mode::from_raw_mode(0o644))?);
    file.write_all(bytes)?;
    Ok(rustix::fs::renameat(directory, &draft, directory, name)?)
}

/// The end of a name has the id of its record. A whole name may be as long as names can be.
const DRAFT_CHARS: usize = 32;

#[cfg(test)]
mod tests;
