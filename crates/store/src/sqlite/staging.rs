//! A database beside the store in which an import is put together and checked. The store's write lock is free meanwhile,
//! and a killed import leaves nothing in the store.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};

use crate::Store;
use crate::error::Result;
use crate::held::HeldFile;
use crate::sqlite;
use crate::sqlite::tables::Table;
use crate::whole_file::beside;

/// How the names of staging files begin.
const ENDING: &str = ".importing-";

pub(crate) struct Staging(HeldFile);

impl Staging {
    /// An empty file. Removes those that killed imports left.
    pub(crate) fn new(store: &Path) -> Result<Self> {
        HeldFile::file(&beside(store, ENDING)).map(Self)
    }

    /// The file as a store with the schema of this version and no rows. It need not survive a crash.
    pub(crate) fn open(&self) -> Result<Store> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.0.path(), flags)?;
        sqlite::configure(&connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        sqlite::migrate(&connection, sqlite::MIGRATIONS, 0)?;
        Ok(Store { found_schema: 0, is_sealed: false, ..Store::on(connection, self.0.path()) })
    }
}

impl Store {
    /// Makes the rows of a staged store visible here, in one commit.
    pub(crate) fn take_over(&mut self, staging: &Staging, events_ever: i64) -> Result<()> {
        // As bytes: a path need not be UTF-8.
        let path = ToSqlOutput::Borrowed(ValueRef::Text(staging.0.path().as_os_str().as_bytes()));
        self.connection.execute("ATTACH ?1 AS staging", [path])?;
        let copied = self.copy_staged(events_ever);
        let detached = self.connection.execute("DETACH staging", []);
        copied?;
        detached?;
        Ok(())
    }

    fn copy_staged(&mut self, events_ever: i64) -> Result<()> {
        // An export has no seals: they hold only under the key of the store it came from.
        self.seal_anew_at_next_transaction()?;
        let tx = self.begin()?;
        let tables = tx.tables()?;
        tx.refuse_rows(&tables)?;
        tx.defer_foreign_keys()?;
        for Table { name, columns, .. } in &tables {
            let columns = columns.join(", ");
            let sql = format!("INSERT INTO main.{name} ({columns}) SELECT {columns} FROM staging.{name}");
            tx.sql.execute(&sql, [])?;
        }
        tx.count_events_from(events_ever)?;
        tx.commit()
    }
}
