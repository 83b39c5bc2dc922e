//! The files of an audit trail. The store can derive each of them again, so none is ever waited for.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Which files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Those that are missing and those that differ.
    Differing,
    /// Only those that are missing: what is there was derived from more events.
    Nothing,
}

/// The directory at this path in a workspace, made where it is missing. No link is followed: a task may have made it.
pub fn in_workspace(workspace: &Path, path: &str) -> io::Result<OwnedFd> {
    steps(workspace, Path::new(path))
}

/// A directory that the user named, made where it is missing. Links in a workspace are refused: a task may have made them.
pub fn named(directory: &Path, workspaces: &[String]) -> io::Result<OwnedFd> {
    let workspaces =
        workspaces.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect::<Vec<_>>();
    let real = real(directory, &workspaces)?;
    // What is there now was looked at. A link that a task puts there later is not followed.
    let there = real.ancestors().find(|path| path.is_dir() && !is_inside(path, &workspaces));
    let there = there.unwrap_or(Path::new("/"));
    steps(there, real.strip_prefix(there).unwrap_or(&real))
}

fn is_inside(path: &Path, workspaces: &[PathBuf]) -> bool {
    workspaces.iter().any(|workspace| path.starts_with(workspace) && path != workspace)
}

/// The path without its links, also where its end does not exist yet.
fn real(path: &Path, workspaces: &[PathBuf]) -> io::Result<PathBuf> {
    let parts =
        |path: &Path| path.components().map(|step| step.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let mut pending: VecDeque<OsString> = parts(&std::path::absolute(path)?).into();
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(step) = pending.pop_front() {
        if step == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&step);
        let Ok(target) = std::fs::read_link(&next) else {
            at = next;
            continue;
        };
        links += 1;
        if links > LINKS_MAX || is_inside(&next, workspaces) {
            let told = format!("`{}` is a link", next.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
        }
        parts(&target).into_iter().rev().for_each(|step| pending.push_front(step));
    }
    Ok(at)
}

/// Opens one directory after the other below `from`, and makes those that are missing.
fn steps(from: &Path, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(CWD, from, flags, Mode::empty())?;
    for step in path.components() {
        let step = match step {
            Component::Normal(step) => step,
            Component::CurDir => continue,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                let told = format!("`{}` leaves the workspace", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
            }
        };
        match rustix::fs::mkdirat(&directory, step, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        directory = rustix::fs::openat(&directory, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(directory)
}

/// Writes files, each whole or not at all. Says how many.
pub fn write(directory: &OwnedFd, files: &[(String, Vec<u8>)], replaced: Replace) -> io::Result<usize> {
    let mut written = 0;
    for (name, bytes) in files {
        let is_kept = match replaced {
            Replace::Differing => is_there(directory, name, Some(bytes)),
            Replace::Nothing => is_there(directory, name, None),
        };
        if !is_kept {
            replace(directory, name, bytes)?;
            written += 1;
        }
    }
    Ok(written)
}

/// Whether there is a file of this name, with these bytes.
fn is_there(directory: &OwnedFd, name: &str, bytes: Option<&[u8]>) -> bool {
    // A pipe in the place of the file must not make us wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(found) = rustix::fs::openat(directory, name, flags, Mode::empty()) else { return false };
    let Ok(stat) = rustix::fs::fstat(&found) else { return false };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return false;
    }
    let Some(bytes) = bytes else { return true };
    if u64::try_from(stat.st_size).ok() != Some(bytes.len() as u64) {
        return false;
    }
    let mut content = Vec::with_capacity(bytes.len());
    File::from(found).take(bytes.len() as u64).read_to_end(&mut content).is_ok() && content == bytes
}

/// The new file takes the place of whatever has its name; a link there is replaced, not followed.
fn replace(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    // The same for every engine, so that the draft of one that was killed is found.
    let draft = format!(".{}.tmp", &name[name.len().saturating_sub(DRAFT_CHARS)..]);
    // A draft that an engine left when it was killed, or that a task put there.
    match rustix::fs::unlinkat(directory, &draft, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(directory, &draft, flags, Mode::from_raw_mode(0o644))?);
    let renamed = |()| Ok(rustix::fs::renameat(directory, &draft, directory, name)?);
    match file.write_all(bytes).and_then(renamed) {
        Ok(()) => Ok(()),
        // Another engine of the session may write the same file now; then it has the same bytes.
        Err(_) if is_there(directory, name, Some(bytes)) => Ok(()),
        Err(error) => {
            rustix::fs::unlinkat(directory, &draft, AtFlags::empty()).ok();
            Err(error)
        }
    }
}

/// The end of a name has the id of its record. A whole name may be as long as names can be.
const DRAFT_CHARS: usize = 32;

#[cfg(test)]
mod tests;
