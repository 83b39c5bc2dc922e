//! Rebuilds the tables from the log, to prove that the log is complete.

use contract::domain::change::Change;
use contract::domain::time::Timestamp;
use rusqlite::types::ValueRef;

use crate::error::{Error, Result};
use crate::events::EventFilter;
use crate::sqlite::seal::SEALED_TABLES;
use crate::sqlite::tables::Table;
use crate::{Store, Tx};

const PAGE: usize = 1000;

impl Store {
    /// An in-memory store whose tables were rebuilt from this store's events alone.
    pub fn rebuilt(&mut self) -> Result<Store> {
        let mut copy = Store::in_memory()?;
        let source = self.read()?;
        let target = copy.begin()?;
        let mut after_id = 0;
        loop {
            let filter = EventFilter { after_id, oldest_first: true, limit: PAGE, ..EventFilter::default() };
            let events = source.events(&filter)?;
            let Some(last) = events.last() else { break };
            after_id = last.id;
            // Events without a change, such as the records of layers, touch no table.
            for event in events.into_iter().filter(|event| event.record.is_change) {
                let change: Change = serde_json::from_value(event.record.payload).map_err(|error| {
                    Error::Corrupt(format!("event {} has an unknown change: {error}", event.id))
                })?;
                let projected = target.project(&change, Timestamp::from_millis(event.record.at), event.id);
                projected.map_err(|error| unfit(event.id, error))?;
            }
        }
        target.commit()?;
        Ok(copy)
    }

    /// Every row of every table that a replay rebuilds, as text in a fixed order.
    pub fn rows(&mut self) -> Result<Vec<String>> {
        let tx = self.read()?;
        let mut rows = Vec::new();
        for table in tx.rebuilt_tables()? {
            let mut statement = tx.prepare(&table.select())?;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                let values = (0..table.columns.len()).map(|column| row.get_ref(column).map(shown));
                let values = values.collect::<rusqlite::Result<Vec<String>>>()?;
                // A tally of 0 and a missing tally are the same.
                if table.name != "task_tallies" || values.last().is_none_or(|tasks| tasks != "0") {
                    rows.push(format!("{}: {}", table.name, values.join(" ")));
                }
            }
        }
        Ok(rows)
    }
}

impl Tx<'_> {
    /// The tables that a replay reproduces, without the columns that change without an event: leases and heartbeats.
    fn rebuilt_tables(&self) -> Result<Vec<Table>> {
        let sealed = |table: &Table| SEALED_TABLES.iter().find(|sealed| sealed.name == table.name);
        let is_beside = |table: &Table| sealed(table).is_some_and(|sealed| sealed.is_counted);
        let rebuilt = |table: &Table| {
            let unlogged = sealed(table).map_or("", |sealed| sealed.unlogged);
            table.with_columns(|column| unlogged.split(", ").all(|other| other != column))
        };
        let tables = self.tables()?;
        let logged = tables.iter().filter(|table| table.name != "events" && !is_beside(table));
        Ok(logged.map(rebuilt).collect())
    }
}

/// A change that does not fit what the events before it made is not one that writ wrote there.
fn unfit(event: i64, error: Error) -> Error {
    match error {
        Error::Sql(_) | Error::Unfit { .. } => {
            Error::Corrupt(format!("event {event} cannot be applied: {error}"))
        }
        other => other,
    }
}

/// A readable form of a value. Different values have different forms.
pub(crate) fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("{bytes:?}"),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => format!("{value:?}"),
    }
}
