//! Exports a whole store as lines of JSON, and imports it: every row of every table, then counts and a digest.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use contract::digest::Running;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::requests::{is_digest, kept_id};
use crate::sqlite;
use crate::sqlite::failure::is_constraint;
use crate::sqlite::staging::Staging;
use crate::sqlite::tables::{Table, json_of, value_of};
use crate::whole_file::{WholeFile, refuse_secret_name};
use crate::{AuditDepth, Store, Tx};

/// The version of the line format. The schema version determines their content.
const FORM: u32 = 1;
/// A line holds one row; the largest rows are answers and plans of little more than a mebibyte.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beginning {
    writ_export: u32,
    schema: usize,
    /// How many events were ever written, including removed ones.
    events_ever: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferRow {
    table: String,
    row: Map<String, Value>,
}

/// What was exported or imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferSummary {
    pub rows: u64,
    pub tables: BTreeMap<String, u64>,
    /// Digest of all lines before the last one.
    pub digest: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferEnd {
    end: TransferSummary,
}

impl Store {
    /// Writes a snapshot of the store. Reads row by row.
    pub fn export(&mut self, out: &mut dyn Write) -> Result<TransferSummary> {
        let tx = self.read()?;
        let mut lines = ExportLines { out, digest: Running::default() };
        let schema = sqlite::MIGRATIONS.len();
        lines.write(&Beginning { writ_export: FORM, schema, events_ever: tx.events_ever()? })?;
        let mut tables = BTreeMap::new();
        for table in tx.tables()? {
            let rows = tx.export_table(&table, &mut lines)?;
            tables.insert(table.name, rows);
        }
        let ExportLines { out, digest } = lines;
        let moved = TransferSummary { rows: tables.values().sum(), tables, digest: digest.finish() };
        let mut last = ExportLines { out, digest: Running::default() };
        last.write(&TransferEnd { end: moved.clone() })?;
        last.out.flush().map_err(writing)?;
        Ok(moved)
    }

    /// Exports into a file that appears only when it is complete.
    pub fn export_to(&mut self, target: &Path, overwrite: bool) -> Result<TransferSummary> {
        refuse_secret_name(target, "$.file")?;
        self.refuse_own_file(target)?;
        let (whole, file) = WholeFile::begin(target, overwrite)?;
        let moved = self.export(&mut io::BufWriter::new(file))?;
        whole.finish()?;
        Ok(moved)
    }

    /// Imports an export from a file.
    pub fn import_from(&mut self, file: &Path) -> Result<TransferSummary> {
        let opened =
            std::fs::File::open(file).map_err(|source| Error::Input { path: file.to_owned(), source })?;
        self.import(&mut io::BufReader::new(opened))
    }

    /// Imports an export into this store, which must be empty. Writes all of it or nothing: it is put together and
    /// checked in a file of its own, while others may write, and becomes visible in one last commit.
    pub fn import(&mut self, input: &mut dyn BufRead) -> Result<TransferSummary> {
        let tx = self.read()?;
        tx.refuse_rows(&tx.tables()?)?;
        drop(tx);
        let staging = Staging::new(&self.path)?;
        let mut staged = staging.open()?;
        let moved = staged.fill(input)?;
        let events_ever = staged.read()?.events_ever()?;
        drop(staged);
        self.take_over(&staging, events_ever)?;
        Ok(moved)
    }

    /// Fills this store, which has no rows, and checks what it was filled with.
    fn fill(&mut self, input: &mut dyn BufRead) -> Result<TransferSummary> {
        let tx = self.begin()?;
        let tables = tx.tables()?;
        tx.defer_foreign_keys()?;
        let moved = Import::new(&tx, tables, input).run()?;
        let found = tx.verify_to(None, AuditDepth::Chain)?;
        if let Some(fault) = found.integrity.first().or(found.completeness.first()) {
            let message = format!("its log is damaged: {} at {}: {}", fault.stream, fault.seq, fault.message);
            return Err(Error::Transfer { line: 0, message });
        }
        if let Some(message) = found.damage.first().or(found.tables.first()) {
            return Err(Error::Transfer { line: 0, message: message.clone() });
        }
        if let Some(table) = tx.dangling()? {
            let message = format!("a row of {table} refers to a row that does not exist");
            return Err(Error::Transfer { line: 0, message });
        }
        tx.commit()?;
        Ok(moved)
    }
}

impl Tx<'_> {
    pub(crate) fn refuse_rows(&self, tables: &[Table]) -> Result<()> {
        for table in tables {
            let sql = format!("SELECT 1 FROM {} LIMIT 1", table.name);
            if self.prepare(&sql)?.exists([])? {
                return Err(Error::NotEmpty { table: table.name.clone() });
            }
        }
        Ok(())
    }

    fn export_table(&self, table: &Table, lines: &mut ExportLines<'_>) -> Result<u64> {
        let mut statement = self.prepare(&table.select())?;
        let mut found = statement.query([])?;
        let mut rows = 0;
        while let Some(row) = found.next()? {
            let mut fields = Map::new();
            for (number, column) in table.columns.iter().enumerate() {
                fields.insert(column.clone(), json_of(row.get_ref(number)?)?);
            }
            if table.name == "requests" {
                hide_request_id(&mut fields);
            }
            lines.write(&TransferRow { table: table.name.clone(), row: fields })?;
            rows += 1;
        }
        Ok(rows)
    }
}

/// Earlier versions kept request ids as they are; an export never has one.
fn hide_request_id(fields: &mut Map<String, Value>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let (Some(agent), Some(request)) = (text("agent"), text("request_id"))
        && !is_digest(request)
    {
        let kept = kept_id(agent, request);
        fields.insert("request_id".to_owned(), kept.into());
    }
}

struct ExportLines<'o> {
    out: &'o mut dyn Write,
    digest: Running,
}

impl ExportLines<'_> {
    fn write<T: Serialize>(&mut self, value: &T) -> Result<()> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| Error::Corrupt(format!("a row has no JSON form: {error}")))?;
        line.push(b'\n');
        if line.len() > LINE_BYTES_MAX {
            return Err(Error::Corrupt(format!("a row is longer than {LINE_BYTES_MAX} bytes")));
        }
        self.digest.update(&line);
        self.out.write_all(&line).map_err(writing)
    }
}

fn writing(source: io::Error) -> Error {
    Error::Output { path: "the export".into(), source }
}

/// An import in progress.
struct Import<'i, 't> {
    tx: &'i Tx<'t>,
    tables: BTreeMap<String, Table>,
    input: &'i mut dyn BufRead,
    line: u64,
    digest: Running,
    counts: BTreeMap<String, u64>,
}

impl<'i, 't> Import<'i, 't> {
    fn new(tx: &'i Tx<'t>, tables: Vec<Table>, input: &'i mut dyn BufRead) -> Self {
        let counts = tables.iter().map(|table| (table.name.clone(), 0)).collect();
        let tables = tables.into_iter().map(|table| (table.name.clone(), table)).collect();
        Self { tx, tables, input, line: 0, digest: Running::default(), counts }
    }

    fn run(mut self) -> Result<TransferSummary> {
        let first = self.next()?.ok_or_else(|| self.wrong("the input is empty"))?;
        let beginning: Beginning =
            serde_json::from_slice(&first).map_err(|_| self.wrong("this is not an export of writ"))?;
        if beginning.writ_export != FORM || beginning.schema != sqlite::MIGRATIONS.len() {
            let (found, known) = (beginning.schema, sqlite::MIGRATIONS.len());
            return Err(Error::OtherExport { found, known });
        }
        self.digest.update(&first);
        loop {
            let line = self.next()?.ok_or_else(|| self.wrong("the last line is missing"))?;
            if line.starts_with(b"{\"end\"") {
                let end: TransferEnd =
                    serde_json::from_slice(&line).map_err(|error| self.wrong(&error.to_string()))?;
                return self.end(end.end, beginning.events_ever);
            }
            let row: TransferRow =
                serde_json::from_slice(&line).map_err(|error| self.wrong(&error.to_string()))?;
            self.insert(row)?;
            self.digest.update(&line);
        }
    }

    fn insert(&mut self, row: TransferRow) -> Result<()> {
        let Some(table) = self.tables.get(&row.table) else {
            return Err(self.wrong(&format!("unknown table `{}`", row.table)));
        };
        if row.row.len() != table.columns.len() {
            return Err(self.wrong(&format!("a row of {} has the wrong columns", row.table)));
        }
        let value = |column: &String| row.row.get(column).and_then(value_of);
        let values: Option<Vec<rusqlite::types::Value>> = table.columns.iter().map(value).collect();
        let Some(values) = values else {
            return Err(self.wrong(&format!("a row of {} has an invalid value", row.table)));
        };
        let insert = self.tx.prepare(&table.insert())?.execute(rusqlite::params_from_iter(values));
        match insert {
            Ok(_) => {}
            Err(error) if is_constraint(&error) => {
                return Err(self.wrong(&format!("a row of {} cannot be inserted: {error}", row.table)));
            }
            Err(error) => return Err(error.into()),
        }
        *self.counts.entry(row.table).or_default() += 1;
        Ok(())
    }

    fn end(mut self, said: TransferSummary, events_ever: i64) -> Result<TransferSummary> {
        if self.next()?.is_some() {
            return Err(self.wrong("there is more input after the last line"));
        }
        let (line, tables) = (self.line, self.counts);
        let found = TransferSummary { rows: tables.values().sum(), tables, digest: self.digest.finish() };
        if found != said {
            let message =
                "the counts or the digest in the last line do not match: the export was changed".to_owned();
            return Err(Error::Transfer { line, message });
        }
        self.tx.count_events_from(events_ever)?;
        Ok(found)
    }

    /// The next line with its newline; `None` at the end of the input.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = (&mut *self.input).take(limit).read_until(b'\n', &mut line);
        self.line += 1;
        read.map_err(|source| self.wrong(&source.to_string()))?;
        if line.len() > LINE_BYTES_MAX {
            return Err(self.wrong(&format!("the line is longer than {LINE_BYTES_MAX} bytes")));
        }
        let is_whole = line.is_empty() || line.ends_with(b"\n");
        if is_whole {
            Ok(Some(line).filter(|line| !line.is_empty()))
        } else {
            Err(self.wrong("the line is truncated"))
        }
    }

    fn wrong(&self, message: &str) -> Error {
        Error::Transfer { line: self.line, message: message.to_owned() }
    }
}
