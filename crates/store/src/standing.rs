//! Whether the files that SQLite has open are still those under the store's names. SQLite goes on writing into a file
//! that was deleted or renamed, and nobody would find there what was acknowledged.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Store;
use crate::error::{Error, Result};
use crate::open::beside;
use crate::whole_file::WholeFile;

/// Device and inode.
pub(crate) type FileId = (u64, u64);

/// The files of one open store, as they were when it was opened.
pub(crate) struct Standing {
    id: FileId,
    /// Where SQLite found the file.
    real: PathBuf,
    /// The write-ahead log and its index. SQLite opens them with the first transaction, and only the last connection
    /// deletes them.
    beside: [PathBuf; 2],
    beside_ids: Cell<Option<[FileId; 2]>>,
}

impl Standing {
    /// `real` is the name under which SQLite opened the file: it follows links once.
    pub(crate) fn new(id: FileId, real: &Path) -> Self {
        let beside = ["-wal", "-shm"].map(|ending| beside(real, ending));
        Self { id, real: real.to_owned(), beside, beside_ids: Cell::new(None) }
    }

    /// Remembers which log SQLite uses. The caller is in a transaction, so SQLite has it open.
    pub(crate) fn note_log(&self) {
        if self.beside_ids.get().is_none()
            && let [Some(log), Some(index)] = [file_id(&self.beside[0]), file_id(&self.beside[1])]
        {
            self.beside_ids.set(Some([log, index]));
        }
    }

    /// Refused if a name leads to another file than before. `written`: the transaction is already committed.
    pub(crate) fn check(&self, path: &Path, written: bool) -> Result<()> {
        match self.problem(path) {
            None => Ok(()),
            Some(problem) => Err(Error::Replaced { path: path.to_owned(), problem, written }),
        }
    }

    fn problem(&self, path: &Path) -> Option<&'static str> {
        match file_id(path) {
            None => return Some("was deleted or moved"),
            Some(found) if found != self.id => return Some("was replaced by another file"),
            Some(_) => {}
        }
        let known = self.beside_ids.get()?;
        let has_changed = self.beside.iter().zip(known).any(|(name, id)| file_id(name) != Some(id));
        has_changed.then_some("lost its write-ahead log, which was deleted or replaced")
    }
}

/// Which file is under this name now.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Store {
    /// Copies what this connection sees to `target`, also when its files have lost their names.
    pub fn rescue_to(&self, target: &Path) -> Result<()> {
        // The directory may have been moved away too.
        crate::open::make_directory(target)?;
        let (whole, _) = WholeFile::begin(target, false)?;
        crate::sqlite::copy_from(&self.connection, whole.part())?;
        whole.finish()?;
        self.copy_key(target)
    }

    /// The key may have gone with the store. The copy can then be read and written, but its seals are not checked.
    fn copy_key(&self, target: &Path) -> Result<()> {
        let Some(key) = self.standing.as_ref().map(|standing| beside(&standing.real, ".key")) else {
            return Ok(());
        };
        let to = beside(target, ".key");
        match fs::copy(key, &to) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Error::Output { path: to, source }),
        }
    }

    /// Whether another file is under the store's name now.
    pub fn is_replaced(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.problem(&self.path).is_some())
    }
}
