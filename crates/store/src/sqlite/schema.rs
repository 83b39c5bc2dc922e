//! Compares the objects of the database, its sequences and its full-text index with those of a new store.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::OptionalExtension;

use crate::audit::FAULTS_MAX;
use crate::error::{Error, Result};
use crate::{Store, Tx, Verification};

/// Whether the tables of the full-text index have rows that its own check does not look at: settings, pages of no segment,
/// and segments without the entry that every search begins at. A page's number has its segment above 37 bits.
const STRAY_WORDS: &str = "SELECT EXISTS (SELECT 1 FROM memory_words_config WHERE k <> 'version')
     OR EXISTS (SELECT 1 FROM memory_words_data WHERE id NOT IN (1, 10) AND id < 1 << 37)
     OR EXISTS (SELECT id >> 37 FROM memory_words_data WHERE id >= 1 << 37
                EXCEPT SELECT segid FROM memory_words_idx WHERE term = x'')
     OR EXISTS (SELECT segid FROM memory_words_idx
                EXCEPT SELECT id >> 37 FROM memory_words_data WHERE id >= 1 << 37)";

/// The text of every object of a schema, by type and name.
type Objects = BTreeMap<String, String>;

/// Those of a new store.
fn expected_objects() -> Result<&'static Objects> {
    static EXPECTED: OnceLock<Objects> = OnceLock::new();
    if let Some(known) = EXPECTED.get() {
        return Ok(known);
    }
    let made = Store::in_memory()?.read()?.objects()?;
    Ok(EXPECTED.get_or_init(|| made))
}

impl Tx<'_> {
    /// Compares tables, indexes, triggers and views with those of a new store.
    pub(crate) fn verify_schema(&self, found: &mut Verification) -> Result<()> {
        let (expected, real) = (expected_objects()?, self.objects()?);
        let changed = |(name, sql): (&String, &String)| match real.get(name) {
            None => Some(format!("{name} is missing")),
            Some(found) if found == sql => None,
            Some(_) => Some(format!("{name} was changed")),
        };
        let added = real.keys().filter(|name| !expected.contains_key(*name));
        let faults = expected.iter().filter_map(changed).chain(added.map(|name| format!("{name} was added")));
        found.schema.extend(faults.take(FAULTS_MAX));
        Ok(())
    }

    /// The text of every object of the schema, by type and name.
    fn objects(&self) -> Result<Objects> {
        let mut statement = self.sql.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master")?;
        let mut rows = statement.query([])?;
        let mut objects = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let text = |column: usize| -> Result<String> {
                Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
            };
            objects.insert(format!("{} {}", text(0)?, text(1)?), format!("{} {}", text(2)?, text(3)?));
        }
        Ok(objects)
    }

    /// `SQLite` counts the events ever written, and nothing else.
    pub(crate) fn verify_sequences(&self, found: &mut Verification) -> Result<()> {
        let mut statement =
            self.sql.prepare("SELECT name FROM sqlite_sequence WHERE name <> 'events' LIMIT 1")?;
        let other: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
        found.tables.extend(other.map(|name| format!("sqlite_sequence has a row for {name}")));
        Ok(())
    }
}

impl Store {
    /// Compares the full-text index with the memories. `SQLite` wants the write lock for that; nothing is written.
    pub fn verify_words(&mut self) -> Result<Vec<String>> {
        let check = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)";
        let checked = self.begin_unsealed().and_then(|tx| {
            tx.sql.execute_batch(check)?;
            Ok(tx.sql.query_row(STRAY_WORDS, [], |row| row.get::<_, bool>(0))?)
        });
        match checked {
            // A disk that cannot be written to cannot have been written to by mistake either.
            Ok(false) | Err(Error::ReadOnly) => Ok(Vec::new()),
            Ok(true) => {
                Ok(vec!["the full-text index has rows that are not its own, or lacks some".to_owned()])
            }
            Err(error @ (Error::Corrupt(_) | Error::Sql(_))) => {
                Ok(vec![format!("the full-text index does not match the memories: {error}")])
            }
            Err(error) => Err(error),
        }
    }
}
