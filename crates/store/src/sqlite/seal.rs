//! Seals: MACs under the store's key for what the log does not rebuild. A commit seals the rows that its transaction
//! wrote, which `SQLite` reports; verification computes every MAC again.

mod sums;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::digest;
use contract::domain::event_kind::STORE_SEALED;
use contract::domain::id::Id;
use contract::domain::time::Timestamp;
use rusqlite::hooks::Action;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::json;

use crate::error::Result;
use crate::key::StoreKey;
use crate::{KeyOnce, NewEvent, Store, Stream, Tx, known_key};
pub(crate) use sums::{Sum, Sums};

/// A table with rows or columns that the log does not rebuild.
pub(crate) struct SealedTable {
    pub(crate) name: &'static str,
    /// The columns of the MAC that name the row, or that the log rebuilds.
    logged: &'static str,
    /// Those of the MAC that the log does not rebuild; empty where it rebuilds none of the row.
    pub(crate) unlogged: &'static str,
    /// How many of the first columns only name the row: one in which all others are empty has no seal. 0 where every row
    /// has one.
    keys: usize,
    /// The column of the MAC.
    pub(crate) seal: &'static str,
    /// Rows are never deleted, so that a missing one is damage.
    pub(crate) is_counted: bool,
}

const fn rows(name: &'static str, columns: &'static str) -> SealedTable {
    SealedTable { name, logged: columns, unlogged: "", keys: 0, seal: "seal", is_counted: true }
}

/// Columns that change without an event.
const fn leases(
    name: &'static str,
    keys: usize,
    logged: &'static str,
    unlogged: &'static str,
) -> SealedTable {
    SealedTable { name, logged, unlogged, keys, seal: "lease_seal", is_counted: false }
}

pub(crate) const SEALED_TABLES: &[SealedTable] = &[
    rows("heads", "stream, seq, hash, anchor_seq, anchor_hash, archived_seq"),
    rows("requests", "agent, request_id, operation, fingerprint, answer, created_at"),
    rows("counters", "name, value"),
    rows("cursors", "agent, project_id, last_event_id, updated_at"),
    // The log rebuilds the token and the owner: who erases a lease cannot erase what says that there is one.
    leases("tasks", 1, "id, claim_token", "claim_boot_id, claim_until, claim_holder"),
    leases("runs", 1, "id, owner", "lease_boot_id, lease_until"),
    leases("locks", 0, "token, scope", "lease_boot_id, lease_until, holder"),
    leases("attempts", 0, "id", "heartbeat_at"),
    leases("ledger_rows", 0, "task_id", "heard_at, heard_boot_id, heard_boot_ms"),
    leases("memories", 0, "id", "access_count, last_accessed_at"),
    leases("agents", 0, "name", "version"),
    rows("store", "id, store_id"),
];

impl SealedTable {
    /// Reads rows: the columns of the MAC, then the seal, then the rowid.
    pub(crate) fn select(&self) -> String {
        let Self { name, logged, unlogged, seal, .. } = self;
        let comma = if unlogged.is_empty() { "" } else { ", " };
        format!("SELECT {logged}{comma}{unlogged}, {seal}, rowid AS rowid FROM {name}")
    }

    /// What seals this row. `None` for a row with nothing to seal.
    pub(crate) fn mac(&self, key: &StoreKey, row: &Row<'_>) -> rusqlite::Result<Option<[u8; 32]>> {
        let width = row.as_ref().column_count() - 2;
        let is_empty = |column: usize| row.get_ref(column).map(|value| value == ValueRef::Null);
        let empty = (self.keys..width).map(is_empty).collect::<rusqlite::Result<Vec<bool>>>()?;
        if self.keys > 0 && empty.iter().all(|empty| *empty) {
            return Ok(None);
        }
        let bytes = encoded(width, |column| row.get_ref(column))?;
        Ok(Some(row_mac(key, self.name, &bytes)))
    }

    /// The stored seal of a row that was read with [`SealedTable::select`].
    pub(crate) fn stored(row: &Row<'_>) -> rusqlite::Result<Option<Vec<u8>>> {
        row.get(row.as_ref().column_count() - 2)
    }
}

/// The rows that a transaction wrote, as the hook of its connection saw them.
pub(crate) type SharedChanges = Arc<Mutex<SealChanges>>;

pub(crate) struct SealChanges {
    key: StoreKey,
    /// Tables by their place in [`SEALED_TABLES`], and rowids.
    touched: BTreeSet<(usize, i64)>,
    /// A row of a counted table was deleted, which writ never does.
    deleted: bool,
    /// A row that this transaction reads was changed by another program.
    broken: bool,
}

impl SealChanges {
    pub(crate) fn clear(&mut self) {
        self.touched.clear();
        (self.deleted, self.broken) = (false, false);
    }
}

pub(crate) fn row_mac(key: &StoreKey, table: &str, row: &[u8]) -> [u8; 32] {
    key.mac_bytes("row", &[table.as_bytes(), row])
}

fn mac_of(key: &StoreKey, sums: &Sums) -> [u8; 32] {
    key.mac_bytes("seal", &[&sums.bytes()])
}

/// One form for each row: every value with its type and length.
pub(crate) fn encoded<'r>(
    columns: usize,
    value: impl Fn(usize) -> rusqlite::Result<ValueRef<'r>>,
) -> rusqlite::Result<Vec<u8>> {
    let mut row = Vec::with_capacity(256);
    let mut put = |kind: u8, bytes: &[u8]| {
        row.push(kind);
        row.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        row.extend_from_slice(bytes);
    };
    for column in 0..columns {
        match value(column)? {
            ValueRef::Null => put(0, &[]),
            ValueRef::Integer(number) => put(1, &number.to_be_bytes()),
            ValueRef::Real(number) => put(2, &number.to_bits().to_be_bytes()),
            ValueRef::Text(text) => put(3, text),
            ValueRef::Blob(bytes) => put(4, bytes),
        }
    }
    Ok(row)
}

impl Store {
    /// Lets this connection record what its transactions write. Refused without the key: what it would write could not
    /// be sealed.
    pub(crate) fn watch_changes(&mut self) -> Result<()> {
        if !self.is_sealed || self.changes.is_some() {
            return Ok(());
        }
        let (key, touched) = (self.key()?.clone(), BTreeSet::new());
        let changes = Arc::new(Mutex::new(SealChanges { key, touched, deleted: false, broken: false }));
        let seen = Arc::clone(&changes);
        let hook = move |action: Action, _: &str, table: &str, rowid: i64| {
            let Some(place) = SEALED_TABLES.iter().position(|sealed| sealed.name == table) else { return };
            let is_counted = SEALED_TABLES[place].is_counted;
            match action {
                Action::SQLITE_DELETE => {
                    let mut seen = locked(&seen);
                    seen.touched.remove(&(place, rowid));
                    seen.deleted |= is_counted;
                }
                _ => drop(locked(&seen).touched.insert((place, rowid))),
            }
        };
        self.connection.update_hook(Some(hook))?;
        self.changes = Some(changes);
        Ok(())
    }

    /// Reads the key again when it is needed next.
    pub fn forget_key(&mut self) {
        self.key = KeyOnce::new();
        self.changes = None;
    }

    /// Makes the next transaction seal every row as it is, if it commits. Makes the key if it is missing, and says so.
    pub fn seal_anew_at_next_transaction(&mut self) -> Result<bool> {
        let is_new = StoreKey::load(&self.path)?.is_none();
        StoreKey::load_or_make(&self.path)?;
        self.forget_key();
        self.seals_anew.set(true);
        Ok(is_new)
    }

    /// Removes a key that was made for a sealing which did not happen: nothing is sealed with it.
    pub fn unmake_key(&mut self) -> Result<()> {
        let path = StoreKey::path_of(&self.path);
        self.forget_key();
        std::fs::remove_file(&path).map_err(|source| crate::Error::Output { path, source })
    }
}

pub(crate) fn locked(changes: &SharedChanges) -> MutexGuard<'_, SealChanges> {
    // What a panic left behind is cleared before it is used.
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stored sums with their MAC.
pub(crate) struct StoredSeal {
    /// `None` if they cannot be read.
    pub(crate) sums: Option<Sums>,
    mac: Vec<u8>,
}

impl StoredSeal {
    pub(crate) fn new(sums: &[u8], mac: Vec<u8>) -> Self {
        Self { sums: Sums::parse(sums), mac }
    }

    pub(crate) fn is_genuine(&self, key: &StoreKey) -> bool {
        self.sums.as_ref().is_some_and(|sums| mac_of(key, sums).as_slice() == self.mac)
    }
}

impl Tx<'_> {
    /// Seals what this transaction wrote. Sums that are missing or wrong stay so until a person seals the store anew.
    pub(crate) fn update_seal(&self) -> Result<()> {
        let Some(shared) = self.changes else { return Ok(()) };
        let (key, touched, deleted, broken) = {
            let mut changes = locked(shared);
            (changes.key.clone(), std::mem::take(&mut changes.touched), changes.deleted, changes.broken)
        };
        if self.seals_anew {
            return self.seal_anew(&key);
        }
        if touched.is_empty() && !deleted && !broken {
            return Ok(());
        }
        let mut changed = vec![Sum::default(); SEALED_TABLES.len()];
        for (place, rowid) in touched {
            self.seal_row(&key, place, rowid, &mut changed[place])?;
        }
        let is_whole = !broken && !deleted;
        if changed.iter().all(|sum| *sum == Sum::default()) && is_whole {
            return Ok(());
        }
        self.add_to_sums(&key, &changed, is_whole)
    }

    /// Adds to the stored sums, if they are genuine, what changed in each of [`SEALED_TABLES`].
    fn add_to_sums(&self, key: &StoreKey, changed: &[Sum], is_whole: bool) -> Result<()> {
        let genuine = self.stored_seal()?.filter(|stored| stored.is_genuine(key));
        if let Some(StoredSeal { sums: Some(mut sums), .. }) = genuine {
            let counted = SEALED_TABLES.iter().zip(changed).filter(|(table, _)| table.is_counted);
            counted.for_each(|(table, sum)| sums.apply(table.name, sum));
            let mac = if is_whole { mac_of(key, &sums).to_vec() } else { Vec::new() };
            self.change_one("UPDATE seal SET sums = ?1, mac = ?2 WHERE id = 1", params![sums.bytes(), mac])?;
        }
        Ok(())
    }

    /// Seals the row of the store's id, which a migration added. Without the key it stays unsealed, as everything else is.
    pub(crate) fn seal_id(&self) -> Result<()> {
        let Some(key) = known_key(self.key, self.path).ok().flatten() else { return Ok(()) };
        let place = SEALED_TABLES.iter().position(|sealed| sealed.name == "store");
        let place = place.expect("BUG: a sealed table");
        let mut changed = vec![Sum::default(); SEALED_TABLES.len()];
        self.seal_row(key, place, 1, &mut changed[place])?;
        self.add_to_sums(key, &changed, true)
    }

    /// Seals one row, and adds to `sum` what it changes.
    fn seal_row(&self, key: &StoreKey, place: usize, rowid: i64, sum: &mut Sum) -> Result<()> {
        let table = &SEALED_TABLES[place];
        let read = |row: &Row<'_>| Ok((table.mac(key, row)?, SealedTable::stored(row)?));
        let mut statement = self.prepare(&format!("{} WHERE rowid = ?1", table.select()))?;
        let Some((mac, old)) = statement.query_row([rowid], read).optional()? else { return Ok(()) };
        if mac.as_ref().map(<[u8; 32]>::as_slice) == old.as_deref() {
            return Ok(());
        }
        if table.is_counted {
            if let Some(old) = old.as_deref().and_then(|old| old.try_into().ok()) {
                sum.remove(old);
            }
            if let Some(mac) = &mac {
                sum.add(mac);
            }
        }
        let sql = format!("UPDATE {} SET {} = ?2 WHERE rowid = ?1", table.name, table.seal);
        self.change_one(&sql, params![rowid, mac.as_ref().map(<[u8; 32]>::as_slice)])
    }

    /// Seals every row as it is.
    pub(crate) fn seal_anew(&self, key: &StoreKey) -> Result<()> {
        let mut sums = Sums::default();
        for table in SEALED_TABLES {
            let mut sum = Sum::default();
            for (rowid, mac) in self.macs(key, table)? {
                if let Some(mac) = &mac {
                    sum.add(mac);
                }
                let sql = format!("UPDATE {} SET {} = ?2 WHERE rowid = ?1", table.name, table.seal);
                self.change_one(&sql, params![rowid, mac.as_ref().map(<[u8; 32]>::as_slice)])?;
            }
            if table.is_counted {
                sums.apply(table.name, &sum);
            }
        }
        let mac = mac_of(key, &sums);
        let sql = "INSERT INTO seal (id, sums, mac) VALUES (1, ?1, ?2)
             ON CONFLICT (id) DO UPDATE SET sums = excluded.sums, mac = excluded.mac";
        self.change_one(sql, params![sums.bytes(), mac.as_slice()])
    }

    /// A digest of everything that the seal covers, for a person who has it sealed without the key. Claims are not in it:
    /// the call that seals renews those of its caller.
    pub fn sealed_contents(&self) -> Result<String> {
        let mut contents = digest::of_bytes(b"");
        for table in SEALED_TABLES.iter().filter(|table| table.name != "tasks") {
            let mut statement = self.prepare(&format!("{} ORDER BY rowid", table.select()))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let width = row.as_ref().column_count() - 2;
                let mut so_far = contents.into_bytes();
                so_far.extend_from_slice(table.name.as_bytes());
                so_far.extend(encoded(width, |column| row.get_ref(column))?);
                contents = digest::of_bytes(&so_far);
            }
        }
        Ok(contents)
    }

    /// Whether this transaction wrote the row; then it is sealed at its end.
    pub(crate) fn wrote(&self, table: &SealedTable, row: &Row<'_>) -> rusqlite::Result<bool> {
        let Some(shared) = self.changes else { return Ok(false) };
        let place = SEALED_TABLES.iter().position(|sealed| sealed.name == table.name);
        let rowid = row.get("rowid")?;
        Ok(place.is_some_and(|place| locked(shared).touched.contains(&(place, rowid))))
    }

    fn macs(&self, key: &StoreKey, table: &SealedTable) -> Result<Vec<(i64, Option<[u8; 32]>)>> {
        let mut statement = self.prepare(&table.select())?;
        let mut rows = statement.query([])?;
        let mut macs = Vec::new();
        while let Some(row) = rows.next()? {
            macs.push((row.get("rowid")?, table.mac(key, row)?));
        }
        Ok(macs)
    }

    /// `None` if there is none.
    pub(crate) fn stored_seal(&self) -> Result<Option<StoredSeal>> {
        let mut statement = self.prepare("SELECT sums, mac FROM seal WHERE id = 1")?;
        let row: Option<(Vec<u8>, Vec<u8>)> =
            statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(row.map(|(sums, mac)| StoredSeal::new(&sums, mac)))
    }

    /// Compares a counter with its seal before this transaction changes it.
    pub(crate) fn check_counter(&self, name: &str) -> Result<()> {
        self.checked("counters", "name = ?1", name, |_| Ok(())).map(|_| ())
    }

    /// The number and the hash of a stream's last event, compared with its seal.
    pub(crate) fn checked_head(&self, stream: &str) -> Result<Option<(i64, String)>> {
        self.checked("heads", "stream = ?1", stream, |row| Ok((row.get("seq")?, row.get("hash")?)))
    }

    /// Reads a row that this transaction is going to change. If another program changed it, the store's seal is broken from
    /// now on: sealing the row again must not hide that.
    fn checked<A>(
        &self,
        table: &str,
        filter: &str,
        value: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<A>,
    ) -> Result<Option<A>> {
        let place = SEALED_TABLES.iter().position(|sealed| sealed.name == table);
        let place = place.expect("BUG: a sealed table");
        let table = &SEALED_TABLES[place];
        let mut statement = self.prepare(&format!("{} WHERE {filter}", table.select()))?;
        let mut rows = statement.query([value])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        if let Some(shared) = self.changes {
            let mut changes = locked(shared);
            // A row that this transaction wrote before is sealed at its end.
            if !changes.touched.contains(&(place, row.get("rowid")?)) {
                let mac = table.mac(&changes.key, row)?;
                let fits = mac.as_ref().map(<[u8; 32]>::as_slice) == SealedTable::stored(row)?.as_deref();
                changes.broken |= !fits;
            }
        }
        Ok(Some(read(row)?))
    }

    /// Whether a stored answer is the one that was given. Without the key nobody knows.
    pub(crate) fn is_sealed_answer(&self, agent: &str, request: &str) -> Result<bool> {
        let Ok(Some(key)) = known_key(self.key, self.path) else { return Ok(true) };
        let table =
            SEALED_TABLES.iter().find(|sealed| sealed.name == "requests").expect("BUG: a sealed table");
        let sql = format!("{} WHERE agent = ?1 AND request_id = ?2", table.select());
        let fits = |row: &Row<'_>| {
            let (mac, stored) = (table.mac(key, row)?, SealedTable::stored(row)?);
            Ok(mac.as_ref().map(<[u8; 32]>::as_slice) == stored.as_deref())
        };
        Ok(self.prepare(&sql)?.query_row([agent, request], fits).optional()?.unwrap_or(true))
    }

    /// The event that says that the store was sealed as it was found.
    pub(crate) fn note_sealing(&self, key: &StoreKey, from: usize, now: Timestamp) -> Result<()> {
        let unique = key.mac_bytes("event id", &[&now.millis().to_be_bytes(), &from.to_be_bytes()]);
        let bits = u128::from_be_bytes(unique[..16].try_into().expect("BUG: a MAC has 32 bytes"));
        let message = format!("Sealed a store of schema {from} as it was found");
        let payload = json!({"schema_before": from});
        self.append(
            &Stream::Store,
            NewEvent::by_store(Id::from_bits(bits), now, STORE_SEALED, message, payload),
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
