//! Files of other programs: read whole, replaced atomically, one writer at a time.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::limits;
use ops::{Error, Result};
use rustix::fs::FlockOperation;

use super::FileChange;
use crate::minter::RandomIds;

/// How long to wait for another writ process that changes files in the same directory.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
const LOCK_LOOK: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// While this value exists, no other writ process changes files in the directory. The directory itself is locked, so
/// that no lock file stays behind in another program's directory.
#[derive(Debug)]
pub(crate) struct SettingsLock {
    _directory: fs::File,
}

pub(crate) fn lock(directory: &Path) -> Result<SettingsLock> {
    let file = fs::File::open(directory).map_err(|error| failed("lock", directory, &error))?;
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(SettingsLock { _directory: file }),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
                if begun.elapsed() < LOCK_WAIT_MAX =>
            {
                // Sleeps; after a signal the loop tries again.
                rustix::event::poll(&mut [], Some(&LOCK_LOOK)).ok();
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let message = format!("another writ is changing files in {}", directory.display());
                return Err(Error::new(ErrorCode::Busy, message));
            }
            Err(error) => return Err(failed("lock", directory, &error.into())),
        }
    }
}

/// Follows symbolic links: people keep their settings elsewhere and link to them.
pub(crate) fn real(path: &Path) -> Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        Err(error) => Err(failed("follow", path, &error)),
    }
}

/// The whole file, or `None` where it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path, &error)),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(limits::DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| failed("read", path, &error))?;
    if bytes.len() > limits::DOCUMENT_BYTES_MAX {
        let message = format!("{} is larger than {} bytes", path.display(), limits::DOCUMENT_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| Error::new(ErrorCode::InvalidInput, format!("{} is not UTF-8", path.display())))
}

/// The directories above the file that are missing, outermost first.
pub(crate) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
    let mut missing: Vec<PathBuf> =
        above.take_while(|directory| !directory.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

pub(crate) fn make_directories(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| failed("make", directory, &error))
}

/// Applies all changes or none: when one fails, those before it are undone.
pub(crate) fn apply(changes: &[FileChange]) -> Result<()> {
    for (done, change) in changes.iter().enumerate() {
        if let Err(error) = set(change, change.after.as_deref()) {
            for made in changes[..done].iter().rev() {
                // The first failure is reported. A file that cannot be restored matches no record, so a later
                // uninstall does not use its record.
                set(made, made.before.as_deref()).ok();
            }
            return Err(error);
        }
    }
    Ok(())
}

fn set(change: &FileChange, text: Option<&str>) -> Result<()> {
    let path = &change.path;
    match text {
        Some(text) => {
            make_directories(path)?;
            replace(path, text, change.mode).map_err(|error| failed("write", path, &error))
        }
        None => remove(path),
    }
}

/// Replaces the file atomically: readers see the old one or the new one. Keeps the mode.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    replace(path, text, None).map_err(|error| failed("write", path, &error))
}

/// A new file has the given mode, or is private.
fn replace(path: &Path, text: &str, new_mode: Option<u32>) -> io::Result<()> {
    let mode =
        fs::metadata(path).map_or(new_mode.unwrap_or(0o600), |meta| meta.permissions().mode() & 0o7777);
    let directory = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = directory.join(format!(".{name}.{:016x}", RandomIds.random_bits() >> 64));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        fs::File::open(directory)?.sync_all()
    })();
    if written.is_err() {
        // The name is random and the write has failed already, so a leftover file is not reported as well.
        fs::remove_file(&part).ok();
    }
    written
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("remove", path, &error)),
    }
    Ok(())
}

/// Removes directories that were made for a file, innermost first, if they are empty.
pub(crate) fn remove_directories<P: AsRef<Path>>(directories: &[P]) {
    for directory in directories.iter().rev() {
        // A directory with other files stays.
        fs::remove_dir(directory).ok();
    }
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, format!("could not {verb} {}: {error}", path.display()))
}
