//! Whether the files that SQLite has open are still those under the store's names. SQLite goes on writing into a file
//! that was deleted or renamed, and nobody would find there what was acknowledged.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::whole_file::{WholeFile, beside, make_directory};
use crate::{Store, StoreKey};

/// Device and inode.
type FileId = (u64, u64);

/// The endings of the write-ahead log and its index.
const LOGS: [&str; 2] = ["-wal", "-shm"];

/// The files of one open store, as they were when it was opened.
pub(crate) struct StoreFiles {
    id: FileId,
    /// Where the store's name leads to, all links followed.
    resolved: PathBuf,
    /// Where SQLite found the file.
    real: PathBuf,
    /// The write-ahead log and its index. SQLite opens them with the first transaction, and only the last connection
    /// deletes them.
    beside: [PathBuf; 2],
    beside_ids: Cell<Option<[FileId; 2]>>,
}

impl StoreFiles {
    /// `real` is the name under which SQLite opened the file: it follows links once.
    pub(crate) fn new(file: Named, real: &Path) -> Self {
        let beside = LOGS.map(|ending| beside(real, ending));
        Self {
            id: file.id,
            resolved: file.resolved,
            real: real.to_owned(),
            beside,
            beside_ids: Cell::new(None),
        }
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
        match Named::find(path) {
            None => return Some("was deleted or moved"),
            Some(found) if found.id != self.id => return Some("was replaced by another file"),
            // Others would look for the log beside the new name.
            Some(found) if found.resolved != self.resolved => {
                return Some("was moved, with a link in its place");
            }
            Some(found) if found.names > 1 => return Some("got a second name (a hard link)"),
            Some(_) => {}
        }
        let known = self.beside_ids.get()?;
        let has_changed = self.beside.iter().zip(known).any(|(name, id)| file_id(name) != Some(id));
        has_changed.then_some("lost its write-ahead log, which was deleted or replaced")
    }
}

/// The file under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    id: FileId,
    resolved: PathBuf,
    /// How many names the file has.
    names: u64,
}

impl Named {
    pub(crate) fn find(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let resolved = fs::canonicalize(path).ok()?;
        // A directory has a name in each of its own.
        let names = if found.is_file() { found.nlink() } else { 1 };
        Some(Self { id: (found.dev(), found.ino()), resolved, names })
    }

    /// Refuses a file whose log may be beside another name: who opens it there does not see what was written here.
    pub(crate) fn refuse_other_names(&self, path: &Path) -> Result<()> {
        let problem = if self.names > 1 {
            format!("has {} names (hard links)", self.names)
        } else if is_link(path) && LOGS.iter().any(|ending| beside(path, ending).exists()) {
            let real = self.resolved.display();
            format!("is a link to {real}, but its write-ahead log is beside the link")
        } else {
            return Ok(());
        };
        Err(Error::OtherName { path: path.to_owned(), problem })
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Which file is under this name now.
fn file_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Store {
    /// Copies what this connection sees to `target`, also when its files have lost their names.
    pub fn rescue_to(&self, target: &Path) -> Result<()> {
        // The directory may have been moved away too.
        make_directory(target)?;
        let (whole, _) = WholeFile::begin(target, false)?;
        crate::sqlite::copy_from(&self.connection, whole.part())?;
        whole.finish()?;
        self.copy_key(target)
    }

    /// The file of the key may have gone with the store. A key that was never read is then missing beside the copy.
    fn copy_key(&self, target: &Path) -> Result<()> {
        if let Some(Some(key)) = self.key.get() {
            return key.save_for(target);
        }
        let real = self.standing.as_ref().map_or(&self.path, |standing| &standing.real);
        StoreKey::load(real)?.map_or(Ok(()), |key| key.save_for(target))
    }
}
