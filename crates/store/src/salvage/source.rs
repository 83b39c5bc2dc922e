//! Reads a damaged store from a copy of its files, as far as it can be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contract::domain::text::counted;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::Salvaged;
use super::chains::Anchor;
use crate::error::{Error, Result};
use crate::events::{self, Event, event_of};
use crate::key::StoreKey;
use crate::open::{beside, private};
use crate::seal::{SEALED_TABLES, StoredSeal, Sum};
use crate::sqlite::APPLICATION_ID;
use crate::tables_sqlite::Table;

/// The size of a page in every store.
const PAGE_BYTES: u16 = 4096;
const HEADER_BYTES: usize = 100;

pub(super) struct Source {
    connection: Connection,
    key: Option<StoreKey>,
    files: CopiedFiles,
}

/// The copy is removed at the end.
struct CopiedFiles(PathBuf);

impl Drop for CopiedFiles {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            fs::remove_file(beside(&self.0, ending)).ok();
        }
    }
}

impl Source {
    /// Copies the store beside `into`, mends the header of the copy and opens it.
    pub(super) fn open(from: &Path, into: &Path) -> Result<Self> {
        let unreadable = |source| Error::Input { path: from.to_owned(), source };
        let mut bytes = fs::read(from).map_err(unreadable)?;
        let part = beside(into, &format!(".salvage-{}", std::process::id()));
        let files = CopiedFiles(part.clone());
        mend_header(&mut bytes);
        write(&part, &bytes)?;
        let log = beside(from, "-wal");
        if log.exists() {
            let bytes = fs::read(&log).map_err(|source| Error::Input { path: log, source })?;
            write(&beside(&part, "-wal"), &bytes)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&part, flags)?;
        // Entries of the schema that cannot be read are left out, instead of refusing all of it.
        connection.execute_batch(
            "PRAGMA writable_schema = ON; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF",
        )?;
        let key = StoreKey::load(from).ok().flatten();
        Ok(Self { connection, key, files })
    }

    /// Every event that can be read, by number. Reads around damaged pages.
    pub(super) fn events(&self, found: &mut Salvaged) -> Vec<Event> {
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
        let most =
            i64::try_from(fs::metadata(&self.files.0).map_or(0, |found| found.len())).unwrap_or(i64::MAX);
        if counted > 0 && counted < most {
            counted.max(last.min(most))
        } else {
            last.min(most).max(PROBED_MIN)
        }
    }

    /// Reads a range of numbers. `Err` has the number from which on it cannot be read.
    fn read_events(&self, from: i64, to: i64, events: &mut Vec<Event>) -> std::result::Result<(), i64> {
        let columns = events::COLUMNS;
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
        let sql = "SELECT stream, anchor_seq, anchor_hash, archived_seq FROM heads NOT INDEXED";
        let mut anchors = BTreeMap::new();
        let Ok(mut statement) = self.connection.prepare(sql) else { return anchors };
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

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    let failed = |source| Error::Output { path: path.to_owned(), source };
    private().create_new(true).open(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}

/// Sets what is the same in the header of every store.
fn mend_header(bytes: &mut [u8]) {
    if bytes.len() < HEADER_BYTES {
        return;
    }
    let pages = u32::try_from(bytes.len() / usize::from(PAGE_BYTES)).unwrap_or(u32::MAX);
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
