//! A file that appears under its name only when it is whole, for its user alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::open::{beside, directory, private};

pub(crate) struct WholeFile {
    target: PathBuf,
    part: PathBuf,
    overwrite: bool,
}

impl WholeFile {
    /// Makes an empty file beside `target` to write into.
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

    /// Makes it durable and gives it its name.
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
            // A second name, unlike a new one, never takes the place of a file that came meanwhile.
            fs::hard_link(&self.part, &self.target)?;
        }
        fs::File::open(directory(&self.target))?.sync_all()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // It is gone already where it got its name by being renamed.
        fs::remove_file(&self.part).ok();
    }
}
