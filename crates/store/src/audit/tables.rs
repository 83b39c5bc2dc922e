//! Checks what the log does not prove: the schema, the seal over all tables, and the fencing counter.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::OptionalExtension;

use super::{Depth, FAULTS_MAX, Verification};
use crate::error::{Error, Result};
use crate::key::StoreKey;
use crate::seal::{SEALED_TABLES, SealedTable, Sum, Sums};
use crate::{Store, Tx, known_key};

/// Where tokens are kept.
const HIGHEST_TOKEN: &str = "SELECT max(coalesce((SELECT max(claim_token) FROM tasks), 0),
     coalesce((SELECT max(token) FROM locks), 0), coalesce((SELECT max(token) FROM assignments), 0),
     coalesce((SELECT max(token) FROM results), 0), coalesce((SELECT max(token) FROM reservations), 0),
     coalesce((SELECT max(token) FROM worklog_lines), 0), coalesce((SELECT max(used_by) FROM approvals), 0))";

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
    /// Compares the seals with the rows. Says so where they cannot be checked.
    pub(super) fn verify_seal(&self, depth: Depth, found: &mut Verification) -> Result<()> {
        // What a person has sealed anew is compared with what was confirmed, in the transaction that seals.
        if self.changes.is_some() && !self.seals_anew {
            found.seal_not_checked = Some("the transaction is still open".to_owned());
            return Ok(());
        }
        let key = match known_key(self.key, self.path) {
            Ok(Some(key)) => key,
            Ok(None) => {
                let path = StoreKey::path_of(self.path);
                found.seal_not_checked = Some(format!("the store's key {} is missing", path.display()));
                return Ok(());
            }
            Err(error) => {
                found.seal_not_checked = Some(error.to_string());
                return Ok(());
            }
        };
        let stored = self.stored_seal()?;
        let sums = match &stored {
            None => {
                found.tables.push("the seal is missing".to_owned());
                None
            }
            Some(stored) if !stored.is_genuine(key) => {
                found.tables.push(
                    "the seal was not made with the store's key: the seal, the key or a sealed row was changed".to_owned(),
                );
                None
            }
            Some(stored) => stored.sums.as_ref(),
        };
        let tables = SEALED_TABLES.iter().filter(|table| depth == Depth::Full || table.name == "heads");
        for table in tables {
            self.verify_table(key, table, sums, found)?;
        }
        Ok(())
    }

    fn verify_table(
        &self,
        key: &StoreKey,
        table: &SealedTable,
        sums: Option<&Sums>,
        found: &mut Verification,
    ) -> Result<()> {
        let mut statement = self.prepare(&table.select())?;
        let mut rows = statement.query([])?;
        let (mut sum, mut all_fit) = (Sum::default(), true);
        while let Some(row) = rows.next()? {
            let mac = table.mac(key, row)?;
            if let Some(mac) = &mac {
                sum.add(mac);
            }
            let fits = mac.as_ref().map(<[u8; 32]>::as_slice) == SealedTable::stored(row)?.as_deref();
            if !fits && !self.wrote(table, row)? {
                all_fit = false;
                let name = crate::replay::shown(row.get_ref(0)?);
                found.row(format!("{} {name} does not match its seal", table.name));
            }
        }
        let Some(sealed) = sums.filter(|_| table.is_counted).map(|sums| sums.of(table.name)) else {
            return Ok(());
        };
        if sealed.rows != sum.rows {
            found.row(format!("{} has {} rows, but {} were sealed", table.name, sum.rows, sealed.rows));
        } else if sealed != sum && all_fit {
            found.row(format!("rows of {} were set back to an older state", table.name));
        }
        Ok(())
    }

    /// A token that was given must never be given again.
    pub(super) fn verify_fencing(&self, found: &mut Verification) -> Result<()> {
        let highest = self.highest_token()?.max(found.highest_token);
        let counter = self.last_number("fencing")?;
        if counter < highest {
            let message = format!("the fencing counter is {counter}, but token {highest} was given");
            found.tables.push(message);
        }
        Ok(())
    }

    /// The highest token in the tables.
    pub(crate) fn highest_token(&self) -> Result<i64> {
        Ok(self.sql.query_row(HIGHEST_TOKEN, [], |row| row.get(0))?)
    }

    /// Compares tables, indexes, triggers and views with those of a new store.
    pub(super) fn verify_schema(&self, found: &mut Verification) -> Result<()> {
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
    pub(super) fn verify_sequences(&self, found: &mut Verification) -> Result<()> {
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
