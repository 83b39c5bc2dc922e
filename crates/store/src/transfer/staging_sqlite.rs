//! A database beside the store in which an import is put together and checked. The store's write lock is free meanwhile,
//! and a killed import leaves nothing in the store.

use std::cell::Cell;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::FlockOperation;

use crate::error::{Error, Result};
use crate::open::{beside, directory, private};
use crate::sqlite;
use crate::tables_sqlite::Table;
use crate::{KeyOnce, OpenTransactions, Store};

const ENDING: &str = ".importing-";

pub(super) struct Staging {
    path: PathBuf,
    /// Locked as long as the import lives, so that the next one can tell what a killed one left.
    _lock: fs::File,
}

impl Staging {
    /// An empty file. Removes those that killed imports left.
    pub(super) fn new(store: &Path) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        remove_leftovers(store);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = beside(store, &format!("{ENDING}{}-{number}", std::process::id()));
        let failed = |source| Error::Output { path: path.clone(), source };
        let lock = private().create_new(true).open(&path).map_err(failed)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed(error.into()))?;
        Ok(Self { path, _lock: lock })
    }

    /// The file as a store with the schema of this version and no rows. It need not survive a crash.
    pub(super) fn open(&self) -> Result<Store> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        sqlite::configure(&connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        sqlite::migrate(&connection, sqlite::MIGRATIONS, 0)?;
        Ok(Store {
            connection,
            path: self.path.clone(),
            found_schema: 0,
            open: OpenTransactions::default(),
            key: KeyOnce::new(),
            witness: Cell::default(),
            standing: None,
        })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The next import removes what stays.
        fs::remove_file(&self.path).ok();
    }
}

impl Store {
    /// Makes the rows of a staged store visible here, in one commit.
    pub(super) fn take_over(&mut self, staging: &Staging, events_ever: i64) -> Result<()> {
        // As bytes: a path need not be UTF-8.
        let path = ToSqlOutput::Borrowed(ValueRef::Text(staging.path.as_os_str().as_bytes()));
        self.connection.execute("ATTACH ?1 AS staging", [path])?;
        let copied = self.copy_staged(events_ever);
        let detached = self.connection.execute("DETACH staging", []);
        copied?;
        detached?;
        Ok(())
    }

    fn copy_staged(&mut self, events_ever: i64) -> Result<()> {
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

fn remove_leftovers(store: &Path) {
    let Some(name) = store.file_name().and_then(|name| name.to_str()) else { return };
    let start = format!("{name}{ENDING}");
    // A directory that cannot be listed cannot have a staging file either; creating one reports why.
    let Ok(entries) = fs::read_dir(directory(store)) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&start)) {
        let path = entry.path();
        let Ok(file) = fs::File::open(&path) else { continue };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Nobody holds it, so nobody needs it.
            fs::remove_file(&path).ok();
        }
    }
}
