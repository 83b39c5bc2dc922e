//! Reads a vybe database. Its columns differ between versions, so rows are read by the columns that exist.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use contract::continuity::vybe::{from_number, parse_time};
use contract::domain::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// A vybe database, opened for reading only.
pub struct Vybe {
    connection: Connection,
}

/// One row, by column name.
pub struct VybeRow(BTreeMap<String, Value>);

/// Tables that every vybe database has.
const NEEDED: [&str; 3] = ["events", "tasks", "memory"];

/// What a database of SQLite begins with, and where its header names the program it belongs to.
const MAGIC: &[u8] = b"SQLite format 3\0";
const APPLICATION_ID: std::ops::Range<usize> = 68..72;
const HEADER_BYTES: usize = 100;

impl Vybe {
    /// Whether a file is a database that no program has marked as its own, as vybe's are. SQLite is not asked: it would
    /// leave files beside a database that is not ours.
    pub fn may_be_at(path: &Path) -> bool {
        let mut header = [0; HEADER_BYTES];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
        read.is_ok() && header.starts_with(MAGIC) && header[APPLICATION_ID] == [0; 4]
    }

    pub fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened =
            Connection::open_with_flags(path, flags).map_err(|source| Error::opening(path, source))?;
        let vybe = Self { connection: opened };
        for table in NEEDED {
            let columns = vybe.columns(table).map_err(|error| match error {
                Error::Sql(source) => Error::opening(path, source),
                Error::Corrupt(_) => Error::NotVybe { path: path.to_owned(), table },
                other => other,
            })?;
            if columns.is_empty() {
                return Err(Error::NotVybe { path: path.to_owned(), table });
            }
        }
        Ok(vybe)
    }

    fn columns(&self, table: &str) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    pub fn count(&self, table: &'static str) -> Result<u64> {
        if self.columns(table)?.is_empty() {
            return Ok(0);
        }
        let sql = format!("SELECT count(*) FROM {table}");
        let rows: i64 = self.connection.query_row(&sql, [], |row| row.get(0))?;
        Ok(u64::try_from(rows).unwrap_or(0))
    }

    /// Calls `each` with every row of a table, in insertion order. A missing table has no rows.
    pub fn each<E: From<Error>>(
        &self,
        table: &'static str,
        mut each: impl FnMut(&VybeRow) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return Ok(());
        }
        let sql = format!("SELECT * FROM {table} ORDER BY rowid");
        let mut statement = self.connection.prepare(&sql).map_err(Error::from)?;
        let mut rows = statement.query([]).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let mut values = BTreeMap::new();
            for (number, column) in columns.iter().enumerate() {
                let value = row.get::<_, Value>(number);
                // Bytes that are not UTF-8 cannot be imported.
                values.insert(column.clone(), value.unwrap_or(Value::Null));
            }
            each(&VybeRow(values))?;
        }
        Ok(())
    }
}

impl VybeRow {
    /// The text of the first of these columns that has one; empty text does not count.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| match self.0.get(*name)? {
            Value::Text(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Null | Value::Blob(_) => None,
        })
    }

    pub fn number(&self, names: &[&str]) -> Option<i64> {
        self.text(names)?.parse().ok()
    }

    pub fn real(&self, names: &[&str]) -> Option<f64> {
        self.text(names)?.parse().ok()
    }

    pub fn time(&self, names: &[&str]) -> Option<Timestamp> {
        names.iter().find_map(|name| match self.0.get(*name)? {
            Value::Integer(number) => Some(from_number(*number)),
            Value::Text(text) => parse_time(text),
            Value::Real(_) | Value::Null | Value::Blob(_) => None,
        })
    }
}
