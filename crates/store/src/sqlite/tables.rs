//! Lists the tables and their columns from `SQLite`'s catalog, for exporting and importing a whole store.

use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};

use crate::Tx;
use crate::error::{Error, Result};

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// The columns that its rows are ordered by.
    key: Vec<String>,
}

impl Table {
    pub(crate) fn select(&self) -> String {
        let key = if self.key.is_empty() { "rowid".to_owned() } else { self.key.join(", ") };
        format!("SELECT {} FROM {} ORDER BY {key}", self.columns.join(", "), self.name)
    }

    /// The same table with fewer columns.
    pub(crate) fn with_columns(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let columns = self.columns.iter().filter(|column| wanted(column)).cloned().collect();
        Self { name: self.name.clone(), columns, key: self.key.clone() }
    }

    pub(crate) fn insert(&self) -> String {
        let places: Vec<String> = (1..=self.columns.len()).map(|number| format!("?{number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", self.name, self.columns.join(", "), places.join(", "))
    }
}

impl Tx<'_> {
    /// Every table with data that another store can take over, by name: full-text indexes are rebuilt from other tables,
    /// and the seal and the id belong to one store.
    pub(crate) fn tables(&self) -> Result<Vec<Table>> {
        let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
             AND name NOT LIKE 'sqlite_%' AND name NOT IN ('seal', 'store') ORDER BY name";
        let mut statement = self.prepare(sql)?;
        let names = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        names.into_iter().map(|name| self.table(name)).collect()
    }

    fn table(&self, name: String) -> Result<Table> {
        let mut statement = self.prepare("SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid")?;
        let columns = statement
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(String, i64)>>>()?;
        let mut key: Vec<(i64, String)> = columns
            .iter()
            .filter(|(_, place)| *place > 0)
            .map(|(name, place)| (*place, name.clone()))
            .collect();
        key.sort();
        let key = key.into_iter().map(|(_, name)| name).collect();
        // A seal holds only under the key of its store.
        let is_seal = |name: &String| name == "seal" || name == "lease_seal";
        let columns = columns.into_iter().map(|(name, _)| name).filter(|name| !is_seal(name)).collect();
        Ok(Table { name, columns, key })
    }

    /// Checks foreign keys only at commit, when all rows are inserted.
    pub(crate) fn defer_foreign_keys(&self) -> Result<()> {
        Ok(self.sql.pragma_update(None, "defer_foreign_keys", true)?)
    }

    /// The table of the first row that refers to a missing row.
    pub(crate) fn dangling(&self) -> Result<Option<String>> {
        let mut statement = self.prepare("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1")?;
        let mut rows = statement.query([])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    /// Raises the number of events ever written to `ever`, if it is lower.
    pub(crate) fn count_events_from(&self, ever: i64) -> Result<()> {
        let known = self.events_ever()?;
        if ever > known {
            let sql = if known == 0 {
                "INSERT INTO sqlite_sequence (seq, name) VALUES (?1, 'events')"
            } else {
                "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'events'"
            };
            self.prepare(sql)?.execute([ever])?;
        }
        Ok(())
    }
}

/// A value as JSON. [`value_of`] converts it back to the same value.
pub(crate) fn json_of(value: ValueRef<'_>) -> Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::from(text),
            Err(_) => return Err(Error::Corrupt("a text is not UTF-8".to_owned())),
        },
        // As text, because a JSON reader may round numbers.
        ValueRef::Real(number) => json!({"real": number.to_string()}),
        ValueRef::Blob(_) => return Err(Error::Corrupt("writ does not store blobs".to_owned())),
    })
}

/// `None` for JSON that [`json_of`] cannot have written.
pub(crate) fn value_of(value: &Value) -> Option<rusqlite::types::Value> {
    use rusqlite::types::Value as Sql;
    match value {
        Value::Null => Some(Sql::Null),
        Value::Number(number) => number.as_i64().map(Sql::Integer),
        Value::String(text) => Some(Sql::Text(text.clone())),
        Value::Object(fields) => real_of(fields).map(Sql::Real),
        Value::Bool(_) | Value::Array(_) => None,
    }
}

fn real_of(fields: &Map<String, Value>) -> Option<f64> {
    let text = fields.get("real").filter(|_| fields.len() == 1)?.as_str()?;
    text.parse().ok()
}
