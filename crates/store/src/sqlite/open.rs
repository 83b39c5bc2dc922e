//! Opens a store: creates it on first use, backs it up before a migration, and refuses files of other programs.

use std::fs;
use std::path::Path;

use contract::domain::time::Timestamp;
use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::sqlite::standing::{Named, StoreFiles};
use crate::sqlite::{self, FileHeader, read_only};
use crate::whole_file::{beside, directory, make_directory, private, refuse_secret_name};
use crate::{Store, StoreKey};

/// The first schema with seals. A store gets its key when it is made or migrated to it, and never in silence later: a
/// new key would make a forged store look genuine.
const SEALED_SINCE: usize = 6;
/// The first schema with an id of the store.
const IDENTIFIED_SINCE: usize = 12;

impl Store {
    /// Opens the store at `path`, or creates it. `now` is part of the name of a backup before a migration.
    pub fn open(path: &Path, now: Timestamp) -> Result<Store> {
        Self::open_knowing(sqlite::MIGRATIONS, path, now)
    }

    /// Opens with these migrations; their number is the supported schema version.
    fn open_knowing(migrations: &[&str], path: &Path, now: Timestamp) -> Result<Store> {
        if !path.exists() {
            refuse_secret_name(path, "the path of the store")?;
        }
        make_directory(path)?;
        sqlite::refuse_network(path)?;
        make_file(path)?;
        let failed = |source| Error::opening(path, source);
        let had_log = beside(path, "-wal").exists();
        let file = Named::find(path);
        if let Some(file) = &file {
            file.refuse_other_names(path)?;
        }
        let (connection, header) = match sqlite::connect(path).and_then(sqlite::with_header) {
            Ok(found) => found,
            Err(error) if sqlite::cannot_write(&error) && path.is_file() => {
                return read_only::open(path, migrations.len()).map_err(|why| match why {
                    // Reading fails for the reason that writing did.
                    Error::Open { .. } | Error::Input { .. } | Error::ReadOnly => failed(error),
                    named => named,
                });
            }
            Err(error) => return Err(failed(error)),
        };
        let needed = preparation(&header, migrations.len(), path);
        // Keep another program's write-ahead log as it is. Remove a log that only our connection has created.
        if needed.is_ok() || !had_log {
            sqlite::clean_up_on_close(&connection).map_err(failed)?;
        }
        let needed = needed?;
        sqlite::use_wal(&connection).map_err(failed)?;
        let found_schema = match needed {
            FilePreparation::Nothing => migrations.len(),
            FilePreparation::Schema => 0,
            FilePreparation::Migration { from } => from,
        };
        // SQLite has opened the file between the two looks.
        let same = file.filter(|file| Named::find(path).as_ref() == Some(file));
        let file = same.ok_or_else(|| Error::Replaced {
            path: path.to_owned(),
            problem: "was replaced",
            written: false,
        })?;
        let standing = Some(StoreFiles::new(file, &sqlite::real_path(&connection, path)));
        let mut store = Store { found_schema, standing, ..Store::on(connection, path) };
        if needed != FilePreparation::Nothing {
            store.bring_up_to_date(migrations, now)?;
        }
        // A store that is damaged there can still be read and verified; the next transaction that writes fails on it.
        store.enter_epoch().ok();
        Ok(store)
    }

    /// An in-memory store, for comparing a replay with the real store.
    pub(crate) fn in_memory() -> Result<Store> {
        let connection = Connection::open_in_memory()?;
        sqlite::configure(&connection)?;
        sqlite::migrate(&connection, sqlite::MIGRATIONS, 0)?;
        let path = Path::new(":memory:");
        Ok(Store { found_schema: 0, is_sealed: false, ..Store::on(connection, path) })
    }

    fn bring_up_to_date(&mut self, migrations: &[&str], now: Timestamp) -> Result<()> {
        let path = self.path.clone();
        let tx = self.begin_unsealed()?;
        // Another process may have migrated the store while this one waited for the lock.
        match preparation(&sqlite::header(&tx.sql)?, migrations.len(), &path)? {
            FilePreparation::Nothing => return Ok(()),
            FilePreparation::Schema => {
                let key = StoreKey::load_or_make(&path)?;
                sqlite::migrate(&tx.sql, migrations, 0)?;
                if migrations.len() >= IDENTIFIED_SINCE {
                    tx.give_id(now)?;
                }
                if migrations.len() >= SEALED_SINCE {
                    tx.seal_anew(&key)?;
                }
            }
            FilePreparation::Migration { from } => {
                back_up(&path, from, now)?;
                let key = if from < SEALED_SINCE { Some(StoreKey::load_or_make(&path)?) } else { None };
                sqlite::migrate(&tx.sql, migrations, from).map_err(|error| unfit_schema(error, from))?;
                if (from + 1..=migrations.len()).contains(&IDENTIFIED_SINCE) {
                    tx.give_id(now)?;
                    tx.seal_id()?;
                }
                if let Some(key) = key.filter(|_| migrations.len() >= SEALED_SINCE) {
                    tx.note_sealing(&key, from, now)?;
                    tx.seal_anew(&key)?;
                }
            }
        }
        tx.commit()
    }
}

/// A migration fits every store of its version, so a store that it fails on is not one.
fn unfit_schema(error: rusqlite::Error, from: usize) -> Error {
    match Error::from(error) {
        Error::Sql(error) => Error::Corrupt(format!("its schema is not that of version {from}: {error}")),
        named => named,
    }
}

/// What to do before a file can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePreparation {
    Nothing,
    Schema,
    Migration { from: usize },
}

fn preparation(header: &FileHeader, known: usize, path: &Path) -> Result<FilePreparation> {
    match header {
        FileHeader::Foreign => Err(Error::not_a_store(path)),
        FileHeader::Fresh => Ok(FilePreparation::Schema),
        FileHeader::Ours { schema } => match usize::try_from(*schema) {
            Ok(found) if found == known => Ok(FilePreparation::Nothing),
            Ok(from) if (1..known).contains(&from) => Ok(FilePreparation::Migration { from }),
            Ok(found) if found > known => {
                let known = i64::try_from(known).expect("BUG: few migrations");
                Err(Error::Newer { found: i64::from(*schema), known })
            }
            Ok(_) | Err(_) => Err(Error::Corrupt(format!("its schema version is {schema}"))),
        },
    }
}

/// Copies the store before a migration. The caller holds the write lock, so nothing is written meanwhile.
fn back_up(path: &Path, schema: usize, now: Timestamp) -> Result<()> {
    let target = beside(path, &format!(".schema{schema}-{}.backup", now.millis()));
    // The backup gets its name only when it is complete.
    let part = beside(&target, ".part");
    let failed = |source| Error::Backup { path: target.clone(), source };
    private().create(true).truncate(true).open(&part).map_err(failed)?;
    sqlite::copy(path, &part)?;
    fs::File::open(&part).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::rename(&part, &target).map_err(failed)?;
    fs::File::open(directory(path)).and_then(|dir| dir.sync_all()).map_err(failed)
}

/// Creates the file if it is missing, readable by the user only.
// An existing file is never opened here: closing it would drop the locks that SQLite holds on it in this process.
fn make_file(path: &Path) -> Result<()> {
    if let Ok(found) = fs::metadata(path) {
        // SQLite treats a file of one byte as empty and would overwrite it.
        let note = found.is_file() && found.len() == 1;
        return if note { Err(Error::Foreign { path: path.to_owned() }) } else { Ok(()) };
    }
    match private().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
