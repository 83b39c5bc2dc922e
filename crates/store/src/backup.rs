//! A copy of the whole store while others use it.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::open::beside;
use crate::sqlite::{self, Header};
use crate::whole_file::WholeFile;
use crate::{KeyOnce, OpenTransactions, Store, Verification};

/// A backup that was made and verified.
#[derive(Debug)]
pub struct Backup {
    pub bytes: u64,
    /// Verification of the log in the copy.
    pub verification: Verification,
}

impl Store {
    /// Copies a snapshot of the store to `target`, and verifies the copy before it gets its name.
    pub fn back_up_to(&self, target: &Path, overwrite: bool) -> Result<Backup> {
        self.refuse_own_file(target)?;
        let (whole, _) = WholeFile::begin(target, overwrite)?;
        sqlite::copy(&self.path, whole.part())?;
        let verification = read_back(whole.part())?;
        let unreadable = |source| Error::Output { path: target.to_owned(), source };
        let bytes = fs::metadata(whole.part()).map_err(unreadable)?.len();
        whole.finish()?;
        Ok(Backup { bytes, verification })
    }

    /// The store's own files are never overwritten, not even with `overwrite`: they hold what was acknowledged.
    pub(crate) fn refuse_own_file(&self, target: &Path) -> Result<()> {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let own = ["", "-wal", "-shm", "-journal"].map(|ending| beside(&self.path, ending));
        let real_store = real(&self.path).unwrap_or_else(|| self.path.clone());
        let at_home = ["-wal", "-shm", "-journal"].map(|ending| beside(&real_store, ending));
        let is_own =
            |path: &PathBuf| path == target || (real(target).is_some() && real(path) == real(target));
        if own.iter().chain(&at_home).any(is_own) {
            return Err(Error::Exists { path: target.to_owned() });
        }
        Ok(())
    }
}

/// Checks every page of the copy and verifies its log.
fn read_back(copy: &Path) -> Result<Verification> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy, flags)?;
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Err(Error::Corrupt(format!("the copy is damaged: {said}")));
    }
    if !matches!(sqlite::header(&connection)?, Header::Ours { .. }) {
        return Err(Error::Corrupt("the copy is not a store".to_owned()));
    }
    let mut copied = Store {
        connection,
        path: copy.to_owned(),
        witness: Cell::default(),
        found_schema: sqlite::MIGRATIONS.len(),
        open: OpenTransactions::default(),
        key: KeyOnce::new(),
        standing: None,
    };
    copied.read()?.verify(None)
}
