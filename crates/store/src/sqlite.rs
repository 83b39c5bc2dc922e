//! What only SQLite has: pragmas, the file header, file systems that cannot hold a write-ahead log.

use std::path::Path;

use contract::domain::limits;
use rusqlite::Connection;

use crate::error::{Error, Result};

/// Marks our files: "WRIT" in ASCII.
const APPLICATION_ID: i64 = 0x5752_4954;

pub(crate) const MIGRATIONS: &[&str] = &[include_str!("../migrations/sqlite/0001_init.sql")];

/// The state of a file before we touch it.
pub(crate) enum Header {
    Fresh,
    Ours { schema: i64 },
    Foreign,
}

/// Settings of each connection. The busy wait comes first: every later statement may meet another writer.
pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(limits::BUSY_WAIT_MAX)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Turns on the write-ahead log. Only one process can, and only while no one else looks; the others wait.
pub(crate) fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
}

pub(crate) fn header(connection: &Connection) -> rusqlite::Result<Header> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id")?;
    let schema = pragma("user_version")?;
    if application == APPLICATION_ID {
        return Ok(Header::Ours { schema });
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(if application == 0 && schema == 0 && tables == 0 { Header::Fresh } else { Header::Foreign })
}

/// Brings the schema from `from` to the newest version, in the caller's transaction.
pub(crate) fn migrate(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(from).expect("BUG: a schema number is not negative");
    for migration in &MIGRATIONS[done..] {
        connection.execute_batch(migration)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", known_schema())
}

pub(crate) fn known_schema() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("BUG: few migrations")
}

/// Refuses file systems whose locks other machines do not see.
pub(crate) fn refuse_network(directory: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        const KINDS: [(u64, &str); 4] =
            [(0x6969, "NFS"), (0x517B, "SMB"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB2")];
        if let Ok(stat) = rustix::fs::statfs(directory) {
            let kind = u64::try_from(stat.f_type).unwrap_or(0);
            if let Some((_, name)) = KINDS.iter().find(|(magic, _)| *magic == kind) {
                return Err(Error::NetworkFileSystem { path: directory.to_owned(), name });
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = directory;
    Ok(())
}
