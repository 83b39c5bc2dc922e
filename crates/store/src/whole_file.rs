//! Names, directories and files of the store: readable by their user only, and complete before they get their names.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::secrets::{self, Secret};

use crate::error::{Error, Result};

/// `path` with `ending` appended to its file name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(OsStr::new(ending));
    PathBuf::from(name)
}

pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the directory if it is missing, readable by the user only.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    let directory = directory(path);
    if directory.is_dir() {
        return Ok(());
    }
    let missing = directory.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    let missing: Vec<&Path> = missing.collect();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| Error::Directory { path: directory.to_owned(), source })?;
    // Sync the parents: a power cut must not lose the directory of a store that has answered. SQLite syncs only
    // what is in the directory.
    for made in missing {
        let above = self::directory(made);
        // A directory without read permission cannot be synced.
        fs::File::open(above).and_then(|above| above.sync_all()).ok();
    }
    Ok(())
}

pub(crate) fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Refuses the name of a new file that contains a secret. `place` is where the caller wrote it.
pub fn refuse_secret_name(path: &Path, place: &str) -> Result<()> {
    match secrets::find(&path.to_string_lossy()) {
        None => Ok(()),
        Some(rule) => Err(Error::Secret(Secret { path: place.to_owned(), rule })),
    }
}

pub(crate) struct WholeFile {
    target: PathBuf,
    part: PathBuf,
    overwrite: bool,
}

impl WholeFile {
    /// Creates an empty file beside `target` to write into.
    pub(crate) fn begin(target: &Path, overwrite: bool) -> Result<(Self, fs::File)> {
        if target.exists() && !overwrite {
            return Err(Error::Exists { path: target.to_owned() });
        }
        let part = beside(target, &format!(".part-{}", std::process::id()));
        let file = private().create(true).truncate(true).open(&part);
        let file = file.map_err(|source| Error::Output { path: target.to_owned(), source })?;
        Ok((Self { target: target.to_owned(), part, overwrite }, file))
    }

    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// Syncs the file and gives it its name.
    pub(crate) fn finish(self) -> Result<()> {
        self.name_it().map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: self.target.clone() },
            _ => Error::Output { path: self.target.clone(), source },
        })
    }

    fn name_it(&self) -> io::Result<()> {
        fs::File::open(&self.part)?.sync_all()?;
        if self.overwrite {
            fs::rename(&self.part, &self.target)?;
        } else {
            name_new(&self.part, &self.target)?;
        }
        fs::File::open(directory(&self.target))?.sync_all()
    }
}

/// Copies a file for its user alone. The error names the side that failed.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(|source| Error::Input { path: from.to_owned(), source })?;
    let failed = |source| Error::Output { path: to.to_owned(), source };
    let mut target = private().create(true).truncate(true).open(to).map_err(failed)?;
    io::copy(&mut source, &mut target).map_err(failed)?;
    Ok(())
}

/// Gives a file its name, which must be free: a file that was created meanwhile is never replaced.
pub(crate) fn name_new(part: &Path, target: &Path) -> io::Result<()> {
    // At no time does the file have two names: a store with two is refused.
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, part, CWD, target, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return done.map_err(io::Error::from),
        }
    }
    fs::hard_link(part, target)
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // After a rename the temporary file no longer exists.
        fs::remove_file(&self.part).ok();
    }
}
