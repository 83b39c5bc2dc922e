//! The files of a salvage: under other names until all of them are complete.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::StoreKey;
use crate::error::{Error, Result};
use crate::events::LoggedEvent;
use crate::held::HeldFile;
use crate::sqlite::files::UNCHAINED;
use crate::whole_file::{beside, directory, make_directory, name_new, private};

/// How the name of the directory begins, beside the new store: a rename must not leave the file system.
const ENDING: &str = ".salvaging-";

/// A directory that is removed at the end, also after a failure. The next salvage removes that of a killed one.
pub(super) struct Parts {
    into: PathBuf,
    held: HeldFile,
}

impl Parts {
    /// Refused if the new store, or a file that belongs to it, exists.
    pub(super) fn new(into: &Path) -> Result<Self> {
        refuse_existing(into)?;
        make_directory(into)?;
        Ok(Self { into: into.to_owned(), held: HeldFile::directory(&beside(into, ENDING))? })
    }

    /// Where the new store is made.
    pub(super) fn store(&self) -> PathBuf {
        self.held.path().join("new.db")
    }

    /// Where the damaged store is copied to.
    pub(super) fn damaged(&self) -> PathBuf {
        self.held.path().join("damaged.db")
    }

    /// Writes the events that are in no chain to a file. Returns the name that it will have.
    pub(super) fn keep_unchained(&self, events: &[LoggedEvent]) -> Result<Option<PathBuf>> {
        if events.is_empty() {
            return Ok(None);
        }
        let path = self.unchained();
        let failed = |source| Error::Output { path: path.clone(), source };
        let file = private().create_new(true).open(&path).map_err(failed)?;
        let mut out = io::BufWriter::new(file);
        for event in events {
            let line = serde_json::to_string(event).unwrap_or_default();
            writeln!(out, "{line}").map_err(failed)?;
        }
        out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        Ok(Some(beside(&self.into, UNCHAINED)))
    }

    fn unchained(&self) -> PathBuf {
        beside(&self.store(), UNCHAINED)
    }

    /// Gives the files their names, the store last.
    pub(super) fn finish(self) -> Result<()> {
        refuse_existing(&self.into)?;
        let store = self.store();
        let files = [
            (self.unchained(), beside(&self.into, UNCHAINED)),
            (StoreKey::path_of(&store), StoreKey::path_of(&self.into)),
            (store, self.into.clone()),
        ];
        let mut named: Vec<&Path> = Vec::new();
        for (part, name) in files.iter().filter(|(part, _)| part.exists()) {
            if let Err(source) = name_new(part, name) {
                for made in named {
                    // What cannot be removed is named by the next try.
                    fs::remove_file(made).ok();
                }
                return Err(match source.kind() {
                    io::ErrorKind::AlreadyExists => Error::Exists { path: name.clone() },
                    _ => Error::Output { path: name.clone(), source },
                });
            }
            named.push(name);
        }
        let synced = fs::File::open(directory(&self.into)).and_then(|directory| directory.sync_all());
        synced.map_err(|source| Error::Output { path: self.into.clone(), source })
    }
}

fn refuse_existing(into: &Path) -> Result<()> {
    let found = crate::files_of(into).unwrap_or_default().into_iter().next();
    match found.or_else(|| fs::symlink_metadata(into).is_ok().then(|| into.to_owned())) {
        Some(path) => Err(Error::Exists { path }),
        None => Ok(()),
    }
}
