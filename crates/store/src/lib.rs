//! Durable state: the only crate with SQL. A `Store` is one database file, a `Tx` one transaction on it.

mod agents;
mod artifacts;
mod attempts;
mod audit;
mod conditions;
mod counts;
mod crew;
mod dependencies;
mod epoch;
mod error;
mod events;
mod focus;
mod held;
mod key;
mod limit_windows;
mod memories;
mod projection;
mod replay;
mod requests;
mod retention;
mod runs;
mod sqlite;
mod substance;
mod tasks;
mod tokens;
mod transfer;
mod trust;
mod whole_file;
mod witness;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use agents::{AgentState, Project};
pub use audit::{AuditDepth, Head, StoreFault, Tip, Verification};
pub use counts::Counts;
pub use crew::{AssignmentRow, LastHeartbeat, LedgerRow, Reservation, ResultRow, WorklogEnd};
pub use error::{Error, Result};
pub use events::{EventFilter, LoggedEvent, NewEvent, Stream};
pub use focus::{TakeableState, TaskSearch};
pub use key::StoreKey;
pub use limit_windows::LimitWaiter;
pub use requests::StoredAnswer;
pub use runs::{NewestRun, RunFilter};
use sqlite::seal;
use sqlite::standing::StoreFiles;
pub use sqlite::{Backup, BackupOptions, Salvaged, Vybe, VybeRow, files_of, is_store, names_of, salvage};
pub use substance::EventScope;
pub use tasks::TaskFilter;
pub use transfer::TransferSummary;
pub use whole_file::refuse_secret_name;
use witness::Times;
pub use witness::Witness;

/// One open database.
pub struct Store {
    connection: rusqlite::Connection,
    path: PathBuf,
    /// The schema version that the file had when it was opened; 0 for a new file.
    found_schema: usize,
    open: OpenTransactions,
    key: KeyOnce,
    /// Whether a commit has to bring the seal up to date. A copy in memory has none.
    is_sealed: bool,
    /// What the open transaction changed; `None` until the first one begins.
    changes: Option<seal::SharedChanges>,
    /// The next transaction seals every row as it is, if it commits.
    seals_anew: Cell<bool>,
    witness: Cell<Witness>,
    /// The epoch in which the store was opened.
    epoch: Cell<i64>,
    /// What the next transactions do stays possible while the store is halted.
    is_permitted: Cell<bool>,
    /// `None` where there is no file that could be replaced, or nothing is written.
    standing: Option<StoreFiles>,
}

/// The store's key, read when it is first needed. `None` if the file is missing.
type KeyOnce = std::cell::OnceCell<Option<StoreKey>>;

/// One transaction. Dropping it rolls it back.
pub struct Tx<'s> {
    sql: rusqlite::Transaction<'s>,
    key: &'s KeyOnce,
    /// `None` if the transaction only reads, or is not sealed.
    changes: Option<&'s seal::SharedChanges>,
    /// Its commit seals every row as it is.
    seals_anew: bool,
    path: &'s Path,
    times: Times<'s>,
    /// `None` in a transaction that only reads.
    standing: Option<&'s StoreFiles>,
    _open: OpenTransaction,
}

/// How many transactions of one `Store` are open. Copies share the count.
#[derive(Debug, Clone, Default)]
pub struct OpenTransactions(Arc<AtomicUsize>);

impl OpenTransactions {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn enter(&self) -> OpenTransaction {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenTransaction(self.clone())
    }
}

/// Counts one transaction while it is open.
struct OpenTransaction(OpenTransactions);

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a transaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TxAccess {
    Reads,
    Writes,
    /// Writes, and its end seals nothing.
    WritesUnsealed,
}

impl Store {
    /// A store on an open connection, of this schema, whose file may be replaced unnoticed.
    fn on(connection: rusqlite::Connection, path: &Path) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            found_schema: sqlite::MIGRATIONS.len(),
            open: OpenTransactions::default(),
            key: KeyOnce::new(),
            is_sealed: true,
            changes: None,
            seals_anew: Cell::new(false),
            witness: Cell::default(),
            epoch: Cell::default(),
            is_permitted: Cell::default(),
            standing: None,
        }
    }

    /// Begins a transaction that may write. Waits for other writers, up to `limits::BUSY_WAIT_MAX`. Refused without the
    /// store's key, while the store is halted, and to a process that opened it before the last halt.
    pub fn begin(&mut self) -> Result<Tx<'_>> {
        self.watch_changes()?;
        self.transaction(TxAccess::Writes)
    }

    /// Begins a transaction that may write, and whose end seals nothing.
    pub(crate) fn begin_unsealed(&mut self) -> Result<Tx<'_>> {
        self.transaction(TxAccess::WritesUnsealed)
    }

    /// Begins a read-only transaction on a snapshot of the store.
    pub fn read(&mut self) -> Result<Tx<'_>> {
        self.transaction(TxAccess::Reads)
    }

    fn transaction(&mut self, access: TxAccess) -> Result<Tx<'_>> {
        let sql = sqlite::begin(&mut self.connection, access)?;
        let changes = self.changes.as_ref().filter(|_| access == TxAccess::Writes);
        if let Some(changes) = changes {
            seal::locked(changes).clear();
        }
        let standing = self.standing.as_ref().filter(|_| access != TxAccess::Reads);
        if let Some(standing) = standing {
            standing.note_log();
        }
        let tx = Tx {
            sql,
            key: &self.key,
            changes,
            seals_anew: access == TxAccess::Writes && self.seals_anew.take(),
            path: &self.path,
            times: Times::new(&self.witness),
            standing,
            _open: self.open.enter(),
        };
        if access == TxAccess::Writes {
            tx.admit(self.epoch.get(), self.is_permitted.get())?;
        }
        Ok(tx)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store's key. Refused if it is missing, or if others could have read or replaced it.
    pub fn key(&self) -> Result<&StoreKey> {
        known_key(&self.key, &self.path)?.ok_or_else(|| Error::NoKey { path: StoreKey::path_of(&self.path) })
    }

    /// The count of open transactions.
    pub fn open_transactions(&self) -> OpenTransactions {
        self.open.clone()
    }

    /// The schema version that the file had when it was opened, and the one it has now. A new file had 0.
    pub fn schemas(&self) -> (usize, usize) {
        (self.found_schema, sqlite::MIGRATIONS.len())
    }
}

/// Reads the key on first use.
fn known_key<'k>(known: &'k KeyOnce, path: &Path) -> Result<Option<&'k StoreKey>> {
    if let Some(key) = known.get() {
        return Ok(key.as_ref());
    }
    let key = StoreKey::load(path)?;
    Ok(known.get_or_init(|| key).as_ref())
}

impl Tx<'_> {
    /// Commits durably: after this returns, the changes survive a crash and a power cut. Refused if the store's name
    /// leads to another file by now.
    pub fn commit(self) -> Result<()> {
        self.update_seal()?;
        let Some(standing) = self.standing else { return Ok(self.sql.commit()?) };
        standing.check(self.path, false)?;
        self.sql.commit()?;
        // Replaced in the last moment: what was written is not where others look for it.
        standing.check(self.path, true)
    }

    /// The store's key. Refused if it is missing, or if others could have read or replaced it.
    pub fn key(&self) -> Result<&StoreKey> {
        known_key(self.key, self.path)?.ok_or_else(|| Error::NoKey { path: StoreKey::path_of(self.path) })
    }

    /// The next value of a counter that never repeats and never goes back.
    pub fn next_number(&self, counter: &str) -> Result<i64> {
        self.check_counter(counter)?;
        let mut statement = self.prepare(
            "INSERT INTO counters (name, value) VALUES (?1, 1)
             ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value",
        )?;
        Ok(statement.query_row([counter], |row| row.get(0))?)
    }

    /// Raises the counter: later numbers are above `least`.
    pub fn raise_number(&self, counter: &str, least: i64) -> Result<()> {
        self.check_counter(counter)?;
        self.prepare(
            "INSERT INTO counters (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value
             WHERE counters.value < excluded.value",
        )?
        .execute(rusqlite::params![counter, least])?;
        Ok(())
    }

    /// The last number that a counter returned.
    pub fn last_number(&self, counter: &str) -> Result<i64> {
        let sql = "SELECT coalesce(max(value), 0) FROM counters WHERE name = ?1";
        Ok(self.prepare(sql)?.query_row([counter], |row| row.get(0))?)
    }

    /// Every row that a statement finds.
    pub(crate) fn list<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        of: impl Fn(&rusqlite::Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(of(row)?);
        }
        Ok(found)
    }

    /// The first row that a statement finds.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        of: impl Fn(&rusqlite::Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(values)?;
        rows.next()?.map(of).transpose()
    }

    /// Prepares every statement of a transaction, so that a test can check all query plans.
    pub(crate) fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>> {
        #[cfg(test)]
        sqlite::plans::note(sql);
        self.sql.prepare_cached(sql).map_err(Error::preparing)
    }
}
