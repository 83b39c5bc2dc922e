//! The file of a worklog: it follows the store by growing, and is written anew only beside what stood there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use contract::digest;
use contract::domain::crew::worklog::{draft_name, set_aside_name};
use contract::domain::limits;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use serde::Serialize;

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "file")]
pub enum Followed {
    /// It held everything already.
    Same,
    /// What was missing at its end was written there.
    Grown,
    /// It held something else. That was set aside under this name, and the file is new.
    Renewed { set_aside: String },
}

/// Brings the file at `path` to what `wanted` gives. Nobody else does so meanwhile, so `wanted` is asked when it is
/// this call's turn. No link is followed, and on return all of it is on the disk.
pub fn follow<E: From<io::Error>>(
    root: &Path,
    path: &str,
    wanted: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<Followed, E> {
    let (folder, name) = folder(root, path)?;
    // Writers lock the folder: the file itself may be replaced under a lock on it.
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let wanted = wanted()?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = open(&folder, &name, flags)?;
    let found = content(&mut file)?;
    if found == wanted {
        // An earlier call may have died before this.
        file.sync_all()?;
        return Ok(Followed::Same);
    }
    if let Some(rest) = wanted.strip_prefix(found.as_slice()) {
        file.write_all(rest)?;
        file.sync_all()?;
        sync_folder(&folder)?;
        return Ok(Followed::Grown);
    }
    Ok(renew(&folder, &name, &found, &wanted)?)
}

/// The bytes of a worklog's file; none where there is no file. No link is followed.
pub fn read(root: &Path, path: &str) -> io::Result<Option<Vec<u8>>> {
    let found = match existing_folder(root, path) {
        Ok((folder, name)) => open(&folder, &name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC),
        Err(error) => Err(error),
    };
    match found {
        Ok(mut file) => content(&mut file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// History is not edited: the old file keeps its bytes under a name of its own, and the new one takes its place whole.
fn renew(folder: &OwnedFd, name: &str, found: &[u8], wanted: &[u8]) -> io::Result<Followed> {
    let digest = digest::of_bytes(found);
    let set_aside = set_aside_name(name, &digest);
    match rustix::fs::linkat(folder, name, folder, &set_aside, AtFlags::empty()) {
        // The same bytes were set aside before.
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let draft = draft_name(name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = open(folder, &draft, flags)?;
    file.write_all(wanted)?;
    file.sync_all()?;
    rustix::fs::renameat(folder, &draft, folder, name)?;
    sync_folder(folder)?;
    Ok(Followed::Renewed { set_aside })
}

fn sync_folder(folder: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(folder)?)
}

fn open(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    // A pipe in the place of the file must not make us wait.
    let file = rustix::fs::openat(folder, name, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o644))?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if kind == FileType::RegularFile {
        Ok(File::from(file))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is no regular file")))
    }
}

/// No more than a worklog may have and one byte, which is enough to see that it has more.
fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let most = u64::try_from(limits::WORKLOG_BYTES_MAX).expect("BUG: the limit is a small number") + 1;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The folder of the file, made where it is missing, and the file's name in it.
fn folder(root: &Path, path: &str) -> io::Result<(OwnedFd, String)> {
    descend(root, path, |folder, step| match rustix::fs::mkdirat(folder, step, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    })
}

fn existing_folder(root: &Path, path: &str) -> io::Result<(OwnedFd, String)> {
    descend(root, path, |_, _| Ok(()))
}

fn descend(
    root: &Path,
    path: &str,
    prepare: impl Fn(&OwnedFd, &str) -> io::Result<()>,
) -> io::Result<(OwnedFd, String)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(CWD, PathBuf::from(root), flags, Mode::empty())?;
    let mut steps: Vec<&str> = path.split('/').collect();
    if path.starts_with('/') || steps.iter().any(|step| matches!(*step, "" | "." | "..")) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{path}` is no path of a worklog")));
    }
    let name = steps.pop().expect("BUG: a split gives at least one part");
    for step in steps {
        prepare(&folder, step)?;
        folder = rustix::fs::openat(&folder, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok((folder, name.to_owned()))
}

#[cfg(test)]
mod tests;
