//! A copy of the whole store while others use it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::sqlite::files::names_of;
use crate::sqlite::{self, FileHeader};
use crate::whole_file::{WholeFile, refuse_secret_name};
use crate::{KeyOnce, Store, StoreKey, Verification, known_key};

/// A backup that was made and verified.
#[derive(Debug)]
pub struct Backup {
    pub bytes: u64,
    /// Verification of the copy, under the store's key.
    pub verification: Verification,
    /// Where the key was copied to; `None` if it was left out or is missing.
    pub key: Option<PathBuf>,
}

/// What a backup replaces and contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackupOptions {
    /// Replace existing files.
    pub overwrite: bool,
    /// Leave out the store's key.
    pub without_key: bool,
}

impl Store {
    /// Copies a snapshot of the store to `target`, and verifies the copy before it gets its name. The key is copied beside
    /// it, for its user alone.
    pub fn back_up_to(&self, target: &Path, options: BackupOptions) -> Result<Backup> {
        let overwrite = options.overwrite;
        refuse_secret_name(target, "$.file")?;
        self.refuse_own_file(target)?;
        let known = known_key(&self.key, &self.path).ok().flatten().cloned();
        let bytes = if options.without_key { None } else { StoreKey::bytes_of(&self.path)? };
        let (whole, _) = WholeFile::begin(target, overwrite)?;
        sqlite::copy(&self.path, whole.part())?;
        let verification = read_back(whole.part(), known)?;
        let key = match bytes {
            Some(bytes) => Some(copy_key(target, &bytes, overwrite)?),
            None => None,
        };
        let unreadable = |source| Error::Output { path: target.to_owned(), source };
        let bytes = fs::metadata(whole.part()).map_err(unreadable)?.len();
        whole.finish()?;
        Ok(Backup { bytes, verification, key })
    }

    /// The store's own files are never overwritten, not even with `overwrite`: they hold what was acknowledged.
    pub(crate) fn refuse_own_file(&self, target: &Path) -> Result<()> {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let real_store = real(&self.path).unwrap_or_else(|| self.path.clone());
        let is_own =
            |path: &PathBuf| path == target || (real(target).is_some() && real(path) == real(target));
        if names_of(&self.path).iter().chain(&names_of(&real_store)).any(is_own) {
            return Err(Error::Exists { path: target.to_owned() });
        }
        Ok(())
    }
}

/// Writes the key beside the copy. An existing one stays, unless it may be replaced or is the same.
fn copy_key(target: &Path, bytes: &[u8], overwrite: bool) -> Result<PathBuf> {
    let path = StoreKey::path_of(target);
    if fs::read(&path).is_ok_and(|found| found == bytes) {
        return Ok(path);
    }
    let (whole, mut file) = WholeFile::begin(&path, overwrite)?;
    file.write_all(bytes).map_err(|source| Error::Output { path: path.clone(), source })?;
    whole.finish()?;
    Ok(path)
}

/// Checks the whole copy.
fn read_back(copy: &Path, key: Option<StoreKey>) -> Result<Verification> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy, flags)?;
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Err(Error::Corrupt(format!("the copy is damaged: {said}")));
    }
    if !matches!(sqlite::header(&connection)?, FileHeader::Ours { .. }) {
        return Err(Error::Corrupt("the copy is not a store".to_owned()));
    }
    let mut copied = Store { key: KeyOnce::from(key), ..Store::on(connection, copy) };
    copied.read()?.verify(None)
}
