//! Gets what is whole out of a damaged store into a new one. The damaged store is only read.

mod chains;
mod parts;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::domain::change::Change;
use contract::domain::event_kind::STORE_SALVAGED;
use contract::domain::id::{Minter, mint};
use contract::domain::retention::PRUNED;
use contract::domain::time::Timestamp;
use rusqlite::params;
use serde::Serialize;
use serde_json::json;

use crate::error::{Error, Result};
use crate::events::{LoggedEvent, NewEvent, Stream};
use crate::sqlite::tables::Table;
use crate::whole_file::refuse_secret_name;
use crate::{Store, Tx};
use chains::Chain;
use parts::Parts;
use source::SalvageSource;

/// The counter that says that a store cannot be rebuilt from its log alone. An event would not do: agents write events of
/// any kind, and counters are sealed.
const SALVAGED_COUNTER: &str = "salvaged";
/// Losses that are listed; further ones are only counted.
const LOSSES_MAX: usize = 100;

/// What was saved, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Salvaged {
    /// Events that could be read.
    pub events_read: usize,
    /// Events in the new store: of each stream, the longest intact part of its chain.
    pub events_kept: usize,
    /// The file with the events that were read and are not in the new store, one per line.
    pub unchained: Option<PathBuf>,
    /// Whether the tables were rebuilt from the log, or copied because the log was shortened before.
    pub rebuilt: bool,
    pub tasks: i64,
    pub memories: i64,
    /// Answers kept for retries; the others are known to have been given, but not what they were.
    pub answers: usize,
    pub answers_forgotten: usize,
    /// What was lost, in words.
    pub lost: Vec<String>,
    /// Losses beyond the ones listed.
    pub lost_more: usize,
}

impl Salvaged {
    fn lose(&mut self, what: String) {
        if self.lost.len() < LOSSES_MAX {
            self.lost.push(what);
        } else {
            self.lost_more += 1;
        }
    }
}

/// Makes a new store at `into` from what is whole in the store at `from`. `into` must not exist; it gets its name when it
/// is complete.
pub fn salvage(from: &Path, into: &Path, ids: &mut dyn Minter, now: Timestamp) -> Result<Salvaged> {
    refuse_secret_name(into, "--into")?;
    let parts = Parts::new(into)?;
    let source = SalvageSource::open(from, &parts.damaged())?;
    let mut found = Salvaged::default();
    let events = source.events(&mut found);
    found.events_read = events.len();
    let (chains, unchained) = chains::longest(events, &source.anchors(), &mut found);
    found.unchained = parts.keep_unchained(&unchained)?;
    let mut store = Store::open(&parts.store(), now)?;
    // Changes that do not fit are rolled back one by one, so the seal is computed at the end.
    store.seal_anew_at_next_transaction()?;
    let tx = store.begin()?;
    tx.take_over(&source, &chains, &mut found)?;
    tx.note_anchors(&chains, ids, now)?;
    let message = "Salvaged from a damaged store".to_owned();
    tx.append(
        &Stream::Store,
        NewEvent::by_store(mint(ids, now), now, STORE_SALVAGED, message, json!(found)),
    )?;
    tx.count_events_from(tx.accounted()?)?;
    tx.commit()?;
    drop(store);
    parts.finish()?;
    Ok(found)
}

impl Tx<'_> {
    /// Writes what is whole in the damaged store.
    fn take_over(&self, source: &SalvageSource, chains: &[Chain], found: &mut Salvaged) -> Result<()> {
        self.defer_foreign_keys()?;
        // The tables of a log that begins at an anchor are more than the log.
        found.rebuilt = chains.iter().all(|chain| chain.anchor_seq == 0);
        let is_whole = found.lost.is_empty() && found.lost_more == 0;
        self.take_events(chains, found)?;
        if !found.rebuilt {
            self.copy_tables(source, |name| !["requests", "counters", "cursors"].contains(&name), found)?;
        }
        self.take_the_rest(source, is_whole, found)?;
        self.remove_dangling(found)?;
        found.tasks = self.count("tasks")?;
        found.memories = self.count("memories")?;
        self.raise_number(SALVAGED_COUNTER, 1)
    }

    /// Whether the tables hold more than the log, because the store came out of a damaged one.
    pub fn was_salvaged(&self) -> Result<bool> {
        Ok(self.last_number(SALVAGED_COUNTER)? > 0)
    }

    /// Writes the kept events with their hashes, in the order they had, and applies their changes.
    fn take_events(&self, chains: &[Chain], found: &mut Salvaged) -> Result<()> {
        let mut events: Vec<&LoggedEvent> = chains.iter().flat_map(|chain| &chain.events).collect();
        events.sort_by_key(|event| event.id);
        for chain in chains {
            let end = chain.end();
            self.prepare(
                "INSERT INTO heads (stream, seq, hash, anchor_seq, anchor_hash, archived_seq)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                chain.stream,
                end.0,
                end.1,
                chain.anchor_seq,
                chain.anchor_hash,
                chain.archived_seq.min(end.0)
            ])?;
        }
        for event in events {
            let number = match self.insert(&event.stream, event.seq, &event.hash, &event.record) {
                Ok(number) => number,
                Err(Error::Sql(error)) => {
                    return Err(Error::Corrupt(format!(
                        "event {} is there twice: {error}",
                        event.record.event_id
                    )));
                }
                Err(error) => return Err(error),
            };
            found.events_kept += 1;
            if found.rebuilt && event.record.is_change {
                self.apply(event, number, found)?;
            }
        }
        Ok(())
    }

    /// Applies one change, unless it needs something that was lost.
    fn apply(&self, event: &LoggedEvent, number: i64, found: &mut Salvaged) -> Result<()> {
        let fails = |why: String| format!("a change of {}: {} ({why})", event.stream, event.record.message);
        let change: Change = match serde_json::from_value(event.record.payload.clone()) {
            Ok(change) => change,
            Err(error) => {
                found.lose(fails(error.to_string()));
                return Ok(());
            }
        };
        // One change is several statements: all of them or none.
        self.sql.execute_batch("SAVEPOINT salvage")?;
        let applied = self.project(&change, Timestamp::from_millis(event.record.at), number);
        let end = if applied.is_ok() { "RELEASE salvage" } else { "ROLLBACK TO salvage; RELEASE salvage" };
        self.sql.execute_batch(end)?;
        match applied {
            Ok(()) => Ok(()),
            Err(error @ (Error::Unfit { .. } | Error::Sql(_))) => {
                found.lose(fails(error.to_string()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Copies the rows of tables that can be read. A row that does not fit is lost.
    fn copy_tables(
        &self,
        source: &SalvageSource,
        wanted: impl Fn(&str) -> bool,
        found: &mut Salvaged,
    ) -> Result<()> {
        for table in self.tables()? {
            let is_log = table.name == "events" || table.name == "heads";
            if !is_log && wanted(&table.name) {
                self.copy_table(source, &table, found)?;
            }
        }
        Ok(())
    }

    fn copy_table(&self, source: &SalvageSource, table: &Table, found: &mut Salvaged) -> Result<usize> {
        // An older or damaged schema has fewer columns; the others keep their defaults.
        let table = source.known_part(table);
        if table.columns.is_empty() {
            found.lose(format!("all rows of {}", table.name));
            return Ok(0);
        }
        let rows = source.rows(&table, found);
        let mut copied = 0;
        for row in rows {
            match self.prepare(&table.insert())?.execute(rusqlite::params_from_iter(row)) {
                Ok(_) => copied += 1,
                Err(error) => found.lose(format!("a row of {}: {error}", table.name)),
            }
        }
        Ok(copied)
    }

    /// What the log does not rebuild: answers, counters, and how far agents have read.
    fn take_the_rest(&self, source: &SalvageSource, is_whole: bool, found: &mut Salvaged) -> Result<()> {
        let tables = self.tables()?;
        let named = |name: &str| tables.iter().find(|table| table.name == name);
        if let Some(requests) = named("requests") {
            let copied = self.copy_table(source, requests, found)?;
            if source.matches_seal("requests") {
                found.answers = copied;
            } else {
                // An answer that was changed would be repeated as if it were true.
                let forget = "UPDATE requests SET answer = NULL WHERE answer IS NOT NULL";
                found.answers_forgotten = self.sql.execute(forget, [])?;
                if found.answers_forgotten > 0 {
                    found.lose(format!("{} answers kept for retries", found.answers_forgotten));
                }
            }
        }
        if let Some(counters) = named("counters") {
            self.copy_table(source, counters, found)?;
        }
        let (tokens, memory) = (self.highest_token()?.max(source.highest_token()), self.highest_memory()?);
        self.raise_number("fencing", tokens)?;
        if let Some(plain) = source.plain_tokens() {
            self.raise_number("fencing_plain", plain.max(tokens))?;
        }
        self.raise_number("memory", memory)?;
        // Events have new numbers where some were lost, so a cursor would point elsewhere.
        match named("cursors") {
            Some(cursors) if is_whole && source.matches_seal("cursors") => {
                self.copy_table(source, cursors, found)?;
            }
            _ => found.lose("how far agents had read".to_owned()),
        }
        Ok(())
    }

    fn highest_memory(&self) -> Result<i64> {
        Ok(self.sql.query_row("SELECT coalesce(max(id), 0) FROM memories", [], |row| row.get(0))?)
    }

    fn count(&self, table: &str) -> Result<i64> {
        Ok(self.sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
    }

    /// How many events the streams account for.
    fn accounted(&self) -> Result<i64> {
        Ok(self.sql.query_row("SELECT coalesce(sum(seq), 0) FROM heads", [], |row| row.get(0))?)
    }

    /// Removes rows that refer to lost ones, and those that refer to them.
    fn remove_dangling(&self, found: &mut Salvaged) -> Result<()> {
        loop {
            let mut statement =
                self.sql.prepare("SELECT DISTINCT \"table\", rowid FROM pragma_foreign_key_check")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let rows = rows.collect::<rusqlite::Result<Vec<(String, Option<i64>)>>>()?;
            let mut removed: BTreeMap<String, usize> = BTreeMap::new();
            for (table, rowid) in rows {
                let gone = match rowid {
                    Some(rowid) => self.sql.execute(&format!("DELETE FROM {table} WHERE rowid = ?1"), [rowid])?,
                    // Only worklogs have no rowid.
                    None => self.sql.execute(
                        &format!("DELETE FROM {table} WHERE task_id NOT IN (SELECT id FROM tasks) OR run_id NOT IN (SELECT id FROM runs)"),
                        [],
                    )?,
                };
                *removed.entry(table).or_default() += gone;
            }
            if removed.values().sum::<usize>() == 0 {
                return Ok(());
            }
            for (table, rows) in removed {
                found.lose(format!("{rows} rows of {table} that refer to lost rows"));
            }
        }
    }

    /// A stream that begins at an anchor says why, as after `gc`.
    fn note_anchors(&self, chains: &[Chain], ids: &mut dyn Minter, now: Timestamp) -> Result<()> {
        for chain in chains.iter().filter(|chain| chain.anchor_seq > 0 && !chain.is_noted()) {
            let anchor = json!({"seq": chain.anchor_seq, "hash": chain.anchor_hash});
            let message = format!("Events 1 to {} were lost in a damaged store", chain.anchor_seq);
            let payload = json!({"anchor": anchor});
            let event = NewEvent::by_store(mint(ids, now), now, PRUNED, message, payload);
            if let Some(stream) = Stream::named(&chain.stream) {
                self.append(&stream, event)?;
            }
        }
        Ok(())
    }
}
