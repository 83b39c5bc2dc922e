//! Reads a damaged store from a copy of its files, as far as it can be read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use contract::domain::text::counted;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::Salvaged;
use super::chains::Anchor;
use crate::error::{Error, Result};
use crate::events::{self, LoggedEvent, event_of};
use crate::key::StoreKey;
use crate::sqlite::seal::{SEALED_TABLES, StoredSeal, Sum};
use crate::sqlite::tables::Table;
use crate::sqlite::{self, APPLICATION_ID, FileHeader};
use crate::whole_file::{self, beside};

/// The size of a page in every store.
const PAGE_BYTES: u16 = 4096;
const HEADER_BYTES: usize = 100;

pub(super) struct SalvageSource {
    connection: Connection,
    key: Option<StoreKey>,
    path: PathBuf,
}

impl SalvageSource {
    /// Copies the store to `copy`, mends the header of the copy, brings it to this schema if it is whole enough, and
    /// opens it.
    pub(super) fn open(from: &Path, copy: &Path) -> Result<Self> {
        whole_file::copy(from, copy)?;
        mend_header(copy).map_err(|source| Error::Output { path: copy.to_owned(), source })?;
        let log = beside(from, "-wal");
        if log.exists() {
            whole_file::copy(&log, &beside(copy, "-wal"))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(copy, flags)?;
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF")?;
        // What cannot be migrated is read as it is: columns that it does not have are left out.
        migrate(&mut connection).ok();
        // Entries of the schema that cannot be read are left out, instead of refusing all of it.
        connection.execute_batch("PRAGMA writable_schema = ON")?;
        let key = StoreKey::load(from).ok().flatten();
        Ok(Self { connection, key, path: copy.to_owned() })
    }

    /// A table with those of its columns that the damaged store has.
    pub(super) fn known_part(&self, table: &Table) -> Table {
        let known = self.columns(&table.name);
        table.with_columns(|column| known.iter().any(|found| found == column))
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let names = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            statement.query_map([table], |row| row.get(0))?.collect()
        };
        names().unwrap_or_default()
    }

    /// Up to which number tokens are their number alone. `None` in a store of this schema, whose counters say it.
    pub(super) fn plain_tokens(&self) -> Option<i64> {
        if self.columns("counters").iter().any(|column| column == "seal") {
            return None;
        }
        let sql = "SELECT value FROM counters WHERE name = 'fencing'";
        Some(self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or(0))
    }

    /// Every event that can be read, by number. Reads around damaged pages.
    pub(super) fn events(&self, found: &mut Salvaged) -> Vec<LoggedEvent> {
        let mut events = Vec::new();
        let last = self.highest_id();
        let mut open = vec![(1, last)];
        let mut gaps = Vec::new();
        while let Some((from, to)) = open.pop() {
            if from > to {
                continue;
            }
            let reached = self.read_events(from, to, &mut events);
            let Err(at) = reached else { continue };
            if at >= to {
                gaps.push((at.min(to), to));
            } else if to - at < 2 {
                open.push((at + 1, to));
                gaps.push((at, at));
            } else {
                // The damage is somewhere in here: halve until it is found.
                let middle = at + (to - at) / 2;
                open.push((middle + 1, to));
                open.push((at, middle));
            }
            if gaps.len() > GAPS_MAX {
                found.lose(format!("events after number {at}: too much of the log is damaged"));
                break;
            }
        }
        events.sort_by_key(|event| event.id);
        events.dedup_by_key(|event| event.id);
        if !gaps.is_empty() {
            gaps.sort_unstable();
            found.lose(format!(
                "events that cannot be read, in {} from number {} on",
                counted(gaps.len(), "place"),
                gaps[0].0
            ));
        }
        events
    }

    fn highest_id(&self) -> i64 {
        let number = |sql: &str| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
        let counted = number("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
        let last = number("SELECT id FROM events NOT INDEXED ORDER BY id DESC LIMIT 1");
        // A damaged counter must not make the search endless.
        let most = i64::try_from(fs::metadata(&self.path).map_or(0, |found| found.len())).unwrap_or(i64::MAX);
        if counted > 0 && counted < most {
            counted.max(last.min(most))
        } else {
            last.min(most).max(PROBED_MIN)
        }
    }

    /// Reads a range of numbers. `Err` has the number from which on it cannot be read.
    fn read_events(&self, from: i64, to: i64, events: &mut Vec<LoggedEvent>) -> std::result::Result<(), i64> {
        let known = self.columns("events");
        // Columns that a later schema added are empty in older events.
        let column = |name| if known.iter().any(|found| found == name) { name } else { "NULL" };
        let columns: Vec<&str> = events::COLUMNS.split(',').map(|name| column(name.trim())).collect();
        let columns = columns.join(", ");
        let sql = format!("SELECT {columns} FROM events NOT INDEXED WHERE id BETWEEN ?1 AND ?2 ORDER BY id");
        let Ok(mut statement) = self.connection.prepare(&sql) else { return Err(to) };
        let Ok(mut rows) = statement.query([from, to]) else { return Err(from) };
        let mut next = from;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    let id: i64 = row.get(0).unwrap_or(next);
                    // A row that is no event is left out; its stream has a gap there.
                    if let Ok(event) = event_of(row) {
                        events.push(event);
                    }
                    if id < next {
                        return Err(next);
                    }
                    next = id + 1;
                }
                Ok(None) => return Ok(()),
                Err(_) => return Err(next),
            }
        }
    }

    /// Where streams began after `gc` shortened them.
    pub(super) fn anchors(&self) -> BTreeMap<String, Anchor> {
        let is_known = |name: &str| self.columns("heads").iter().any(|found| found == name);
        let archived = if is_known("archived_seq") { "archived_seq" } else { "0" };
        let sql = format!("SELECT stream, anchor_seq, anchor_hash, {archived} FROM heads NOT INDEXED");
        let mut anchors = BTreeMap::new();
        let Ok(mut statement) = self.connection.prepare(&sql) else { return anchors };
        let Ok(mut rows) = statement.query([]) else { return anchors };
        while let Ok(Some(row)) = rows.next() {
            if let (Ok(stream), Ok(seq), Ok(hash), Ok(archived_seq)) =
                (row.get(0), row.get(1), row.get(2), row.get(3))
            {
                anchors.insert(stream, Anchor { seq, hash, archived_seq });
            }
        }
        anchors
    }

    /// The rows of a table, up to the first that cannot be read.
    pub(super) fn rows(&self, table: &Table, found: &mut Salvaged) -> Vec<Vec<Value>> {
        let mut values = Vec::new();
        let columns = table.columns.join(", ");
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(&format!("SELECT {columns} FROM {}", table.name))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let row = (0..table.columns.len()).map(|column| row.get(column));
                values.push(row.collect::<rusqlite::Result<Vec<Value>>>()?);
            }
            Ok(())
        };
        if let Err(error) = read() {
            found.lose(format!("rows of {} after the first {}: {error}", table.name, values.len()));
        }
        values
    }

    /// Whether a table is as the seal has it. Never without the key.
    pub(super) fn matches_seal(&self, table: &str) -> bool {
        self.sealed_sum(table).is_some_and(|(was, is)| was == is)
    }

    fn sealed_sum(&self, table: &str) -> Option<(Sum, Sum)> {
        let key = self.key.as_ref()?;
        let sealed = SEALED_TABLES.iter().find(|sealed| sealed.name == table)?;
        let row: (Vec<u8>, Vec<u8>) = self
            .connection
            .query_row("SELECT sums, mac FROM seal WHERE id = 1", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .ok()?;
        let stored = StoredSeal::new(&row.0, row.1);
        let was = stored.sums.as_ref().filter(|_| stored.is_genuine(key))?.of(table);
        let mut statement = self.connection.prepare(&sealed.select()).ok()?;
        let mut rows = statement.query([]).ok()?;
        let mut is = Sum::default();
        while let Some(row) = rows.next().ok()? {
            is.add(&sealed.mac(key, row).ok()??);
        }
        Some((was, is))
    }

    /// The highest token that any readable table knows.
    pub(super) fn highest_token(&self) -> i64 {
        let places =
            [("tasks", "claim_token"), ("locks", "token"), ("assignments", "token"), ("results", "token")];
        let places = places.iter().chain(&[("reservations", "token"), ("worklog_lines", "token")]);
        let highest = |(table, column): &(&str, &str)| {
            let sql = format!("SELECT coalesce(max({column}), 0) FROM {table}");
            self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
        };
        places.map(highest).max().unwrap_or(0)
    }
}

/// More places than this are not looked at one by one.
const GAPS_MAX: usize = 10_000;
/// How many numbers are tried where nobody knows how many events there are.
const PROBED_MIN: i64 = 10_000;

/// Brings a store of an older schema to this one: all of it or nothing.
fn migrate(connection: &mut Connection) -> Result<()> {
    let FileHeader::Ours { schema } = sqlite::header(connection)? else { return Ok(()) };
    let Ok(from) = usize::try_from(schema) else { return Ok(()) };
    if (1..sqlite::MIGRATIONS.len()).contains(&from) {
        let tx = connection.transaction()?;
        sqlite::migrate(&tx, sqlite::MIGRATIONS, from)?;
        tx.commit()?;
    }
    Ok(())
}

/// Sets what is the same in the header of every store.
fn mend_header(path: &Path) -> io::Result<()> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = [0; HEADER_BYTES];
    if length < HEADER_BYTES as u64 {
        return Ok(());
    }
    file.read_exact_at(&mut bytes, 0)?;
    mend(&mut bytes, u32::try_from(length / u64::from(PAGE_BYTES)).unwrap_or(u32::MAX));
    file.write_all_at(&bytes, 0)
}

fn mend(bytes: &mut [u8; HEADER_BYTES], pages: u32) {
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    bytes[16..18].copy_from_slice(&PAGE_BYTES.to_be_bytes());
    // Write-ahead log for reading and writing, no reserved space, the fractions that SQLite demands.
    bytes[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    // No free pages: nothing is allocated from the copy.
    bytes[32..40].fill(0);
    // Schema format 4, no vacuum, UTF-8.
    bytes[44..48].copy_from_slice(&4_u32.to_be_bytes());
    bytes[52..56].fill(0);
    bytes[56..60].copy_from_slice(&1_u32.to_be_bytes());
    bytes[64..68].fill(0);
    bytes[68..72].copy_from_slice(&APPLICATION_ID.to_be_bytes());
    // The number of pages counts for this state of the file.
    bytes.copy_within(24..28, 92);
}
