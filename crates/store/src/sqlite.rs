//! Everything that only `SQLite` has: pragmas, the file and its header, rowids and the update hook, full-text search,
//! backups, salvage. The other statements of this crate are SQL that PostgreSQL has too.

mod backup;
pub(crate) mod failure;
mod files;
mod identity;
mod memory_search;
mod old_values;
mod open;
#[cfg(test)]
pub(crate) mod plans;
mod queries;
mod read_only;
mod salvage;
mod schema;
pub(crate) mod seal;
pub(crate) mod staging;
pub(crate) mod standing;
pub(crate) mod tables;
mod vybe;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use contract::domain::limits;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension, ffi};

use crate::error::{Error, Result};
use crate::whole_file::directory;
use crate::{Store, Tx, TxAccess};

pub use backup::{Backup, BackupOptions};
pub use files::{files_of, is_store, names_of};
pub use salvage::{Salvaged, salvage};
pub use vybe::{Vybe, VybeRow};

/// Marks our files: "WRIT" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x5752_4954;

pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/sqlite/0001_init.sql"),
    include_str!("../migrations/sqlite/0002_continuity.sql"),
    include_str!("../migrations/sqlite/0003_crew.sql"),
    include_str!("../migrations/sqlite/0004_worklogs.sql"),
    include_str!("../migrations/sqlite/0005_everyday.sql"),
    include_str!("../migrations/sqlite/0006_trust.sql"),
    include_str!("../migrations/sqlite/0007_rollback.sql"),
    include_str!("../migrations/sqlite/0008_epoch.sql"),
    include_str!("../migrations/sqlite/0009_sessions.sql"),
    include_str!("../migrations/sqlite/0010_limit_windows.sql"),
    include_str!("../migrations/sqlite/0011_children.sql"),
    include_str!("../migrations/sqlite/0012_store_id.sql"),
    include_str!("../migrations/sqlite/0013_reasons.sql"),
];

/// The first schema with reasons and warnings in parts.
const REASONS_SINCE: usize = 13;

/// The state of a file before we change it.
pub(crate) enum FileHeader {
    Fresh,
    Ours { schema: i32 },
    Foreign,
}

/// Opens a file that may belong to another program. It stays unchanged until [`clean_up_on_close`] is called.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // No CREATE: we have created the file with its permissions. No URI: a path is only a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    configure(&connection)?;
    Ok(connection)
}

/// Settings of each connection. The busy timeout comes first, because every later statement may have to wait for
/// another writer.
pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(limits::BUSY_WAIT_MAX)?;
    // Query plans must depend on the statement alone. Otherwise SQLite recompiles a statement when its values change.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Lets the last connection move the write-ahead log into the file and remove the log.
pub(crate) fn clean_up_on_close(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map(|_| ())
}

/// Turns on the write-ahead log, permanently. This needs a moment in which no other process uses the file.
pub(crate) fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        let mode = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", mode) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(no_wal(&mode)),
            // SQLite does not use its busy timeout here, so wait for an empty transaction instead.
            Err(error) if is_busy(&error) && begun.elapsed() < limits::BUSY_WAIT_MAX => {
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            Err(error) => return Err(error),
        }
    }
}

fn no_wal(mode: &str) -> rusqlite::Error {
    let message = format!("the write-ahead log cannot be used here; the journal mode stays {mode}");
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(message))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Reads the header of a file that was opened for writing. An error if SQLite could open it for reading only.
pub(crate) fn with_header(connection: Connection) -> rusqlite::Result<(Connection, FileHeader)> {
    if connection.is_readonly(MAIN_DB)? {
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None));
    }
    let header = header(&connection)?;
    Ok((connection, header))
}

/// Whether the file may still be readable: it, its directory or its log cannot be written.
pub(crate) fn cannot_write(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Kind;
    matches!(error.sqlite_error_code(), Some(Kind::ReadOnly | Kind::CannotOpen | Kind::PermissionDenied))
}

/// Where SQLite found the file, after links.
pub(crate) fn real_path(connection: &Connection, path: &Path) -> PathBuf {
    connection.path().filter(|real| !real.is_empty()).map_or_else(|| path.to_owned(), PathBuf::from)
}

pub(crate) fn header(connection: &Connection) -> rusqlite::Result<FileHeader> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if pragma("application_id")? == APPLICATION_ID {
        return Ok(FileHeader::Ours { schema: pragma("user_version")? });
    }
    // One statement, so that both values come from one snapshot: another process may be creating the store right now.
    let numbers = "SELECT (SELECT application_id FROM pragma_application_id),
                          (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)";
    let (application, schema, tables): (i32, i32, i64) =
        connection.query_row(numbers, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(match (application, schema, tables) {
        (APPLICATION_ID, schema, _) => FileHeader::Ours { schema },
        (0, 0, 0) => FileHeader::Fresh,
        _ => FileHeader::Foreign,
    })
}

/// Migrates the schema from version `from` to the last of `migrations`, in the caller's transaction.
pub(crate) fn migrate(connection: &Connection, migrations: &[&str], from: usize) -> rusqlite::Result<()> {
    for (index, migration) in migrations.iter().enumerate().skip(from) {
        connection.execute_batch(migration)?;
        if index + 1 == REASONS_SINCE {
            old_values::rewrite_reasons(connection)?;
        }
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    let schema = i64::try_from(migrations.len()).expect("BUG: few migrations");
    connection.pragma_update(None, "user_version", schema)
}

/// Copies the committed state of a store into the empty file `target`. Another connection may hold the write lock.
pub(crate) fn copy(path: &Path, target: &Path) -> Result<()> {
    let connection = connect(path).map_err(|source| Error::opening(path, source))?;
    copy_from(&connection, target)
}

/// Copies the committed state that a connection sees into the empty file `target`.
pub(crate) fn copy_from(connection: &Connection, target: &Path) -> Result<()> {
    // As bytes: a path need not be UTF-8.
    let target = ToSqlOutput::Borrowed(ValueRef::Text(target.as_os_str().as_bytes()));
    connection.execute("VACUUM INTO ?1", [target])?;
    Ok(())
}

impl Store {
    /// Sets how long later calls wait for other writers.
    pub fn wait_at_most(&self, wait: std::time::Duration) -> Result<()> {
        Ok(self.connection.busy_timeout(wait)?)
    }
}

/// Begins a transaction. One that writes takes the write lock at once.
pub(crate) fn begin(
    connection: &mut Connection,
    access: TxAccess,
) -> rusqlite::Result<rusqlite::Transaction<'_>> {
    use rusqlite::TransactionBehavior::{Deferred, Immediate};
    let behavior = if access == TxAccess::Reads { Deferred } else { Immediate };
    connection.transaction_with_behavior(behavior)
}

impl Tx<'_> {
    /// The damage that `SQLite` finds in the file, at most `max` messages. Reads the whole file.
    pub(crate) fn damage(&self, max: usize) -> Result<Vec<String>> {
        let sentences = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.sql.prepare(&format!("PRAGMA integrity_check({max})"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        match sentences().map_err(Error::from) {
            Ok(found) => Ok(found.into_iter().filter(|sentence| sentence != "ok").collect()),
            // Too damaged to be checked.
            Err(Error::Corrupt(message)) => Ok(vec![message]),
            Err(other) => Err(other),
        }
    }

    /// How many events were ever appended. `SQLite` keeps this number and never lowers it.
    pub fn events_ever(&self) -> Result<i64> {
        let mut statement = self.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?;
        Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

/// Refuses network file systems: other machines do not see our locks there.
pub(crate) fn refuse_network(path: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let place = if path.exists() { path } else { directory(path) };
        // If the file system cannot be queried, opening the file reports the error.
        if let Ok(stat) = rustix::fs::statfs(place)
            && let Some(name) = network(u64::try_from(stat.f_type).unwrap_or(0))
        {
            return Err(Error::NetworkFileSystem { path: place.to_owned(), name });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = path;
    Ok(())
}

/// The name of a network file system, by its `statfs` type number.
#[cfg(target_os = "linux")]
fn network(kind: u64) -> Option<&'static str> {
    const KINDS: [(u64, &str); 8] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x00C3_6400, "Ceph"),
        (0x5346_414F, "AFS"),
        (0x7375_7245, "Coda"),
        (0x0BD0_0BD0, "Lustre"),
    ];
    KINDS.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use contract::continuity::substance::{ENGINE, REPEATED, Substance, WITHOUT_SUBSTANCE};
    use rusqlite::params;

    use super::*;

    /// Events that are older than the column got theirs from the migration.
    #[test]
    fn the_migration_decides_as_new_events_are_decided() {
        let migration = MIGRATIONS[5];
        let begin = migration.find("UPDATE events").unwrap();
        let update = &migration[begin..][..=migration[begin..].find(';').unwrap()];
        let store = Connection::open_in_memory().unwrap();
        store.execute_batch("CREATE TABLE events (kind, sender, is_change, substance)").unwrap();
        let mut expected = Vec::new();
        for kind in REPEATED.iter().chain(WITHOUT_SUBSTANCE).chain(&["progress"]) {
            for (sender, is_change) in [("ann", false), ("ann", true), (ENGINE, false)] {
                let sql = "INSERT INTO events VALUES (?1, ?2, ?3, NULL)";
                store.execute(sql, params![kind, sender, is_change]).unwrap();
                expected.push(Substance::of(kind, sender, is_change).code());
            }
        }
        store.execute_batch(update).unwrap();
        let mut rows = store.prepare("SELECT substance FROM events ORDER BY rowid").unwrap();
        let found =
            rows.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<Vec<i64>>>().unwrap();
        assert_eq!(found, expected);
        for code in 0..3 {
            assert!(found.contains(&code), "{code}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_number_and_local_ones_are_allowed() {
        let (ext4, tmpfs, btrfs, overlay) = (0xEF53, 0x0102_1994, 0x9123_683E, 0x794C_7630);
        assert!([ext4, tmpfs, btrfs, overlay, 0].iter().all(|kind| network(*kind).is_none()));
        assert_eq!(network(0x6969), Some("NFS"));
        assert_eq!(network(0xFF53_4D42), Some("CIFS"));
        assert!(refuse_network(Path::new("writ.db")).is_ok(), "a file in the directory of this test");
    }
}
