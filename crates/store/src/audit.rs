//! Verification: damage to the file, the schema, integrity of the log (no row changed), completeness of the log (none
//! missing), and the tables beside it.

mod tables;
mod walk;

use std::collections::BTreeMap;

use contract::{chain, digest};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::Tx;
use crate::error::{Error, Result};
use crate::events;
use walk::AuditWalk;
pub(crate) use walk::anchor_noted_by;

/// Faults listed of each kind; further ones are only counted. A longer list would not help a reader.
pub(crate) const FAULTS_MAX: usize = 100;
/// The stream name for faults that belong to no single stream.
const ALL_STREAMS: &str = "*";

/// The last event of every stream at one moment. If it is kept elsewhere, a removed tail or stream can be detected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    pub events: i64,
    pub streams: BTreeMap<String, Head>,
    /// Digest of all fields above.
    pub digest: String,
}

impl Tip {
    /// Whether the digest matches the content.
    pub fn is_genuine(&self) -> bool {
        digest::of_value(&(self.events, &self.streams)).is_ok_and(|digest| digest == self.digest)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub seq: i64,
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreFault {
    pub stream: String,
    pub seq: i64,
    /// Set if the fault concerns one event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    pub message: String,
}

/// How much a verification looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditDepth {
    /// The chain, and whether its ends are sealed.
    Chain,
    /// Also the whole file, the schema and every table.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Verification {
    pub events: i64,
    pub streams: usize,
    /// Damage to the file itself: pages that cannot be read, indexes that miss a row.
    pub damage: Vec<String>,
    /// Tables, indexes, triggers and views that are not those of a new store.
    pub schema: Vec<String>,
    /// Rows that were changed.
    pub integrity: Vec<StoreFault>,
    /// Rows that are missing.
    pub completeness: Vec<StoreFault>,
    /// Rows beside the log that do not match the seal, and a fencing counter that is behind.
    pub tables: Vec<String>,
    /// Why the seal was not checked; `None` if it was.
    pub seal_not_checked: Option<String>,
    /// Faults beyond the ones listed.
    pub omitted: usize,
    /// The highest token in the log.
    #[serde(skip)]
    pub highest_token: i64,
}

impl Verification {
    pub fn is_clean(&self) -> bool {
        let named = [&self.damage, &self.schema, &self.tables];
        let log = [&self.integrity, &self.completeness];
        named.iter().all(|faults| faults.is_empty()) && log.iter().all(|faults| faults.is_empty())
    }

    fn changed(&mut self, fault: StoreFault) {
        self.omitted += push(&mut self.integrity, fault);
    }

    fn row(&mut self, message: String) {
        if self.tables.len() < FAULTS_MAX {
            self.tables.push(message);
        } else {
            self.omitted += 1;
        }
    }

    fn missing(&mut self, stream: &str, seq: i64, message: String) {
        let fault = StoreFault { stream: stream.to_owned(), seq, event_id: None, message };
        self.omitted += push(&mut self.completeness, fault);
    }
}

fn push(faults: &mut Vec<StoreFault>, fault: StoreFault) -> usize {
    let full = faults.len() == FAULTS_MAX;
    if !full {
        faults.push(fault);
    }
    usize::from(full)
}

/// A stream's row in the head table.
struct HeadRow {
    head: Head,
    /// The event before the first row that was not pruned.
    anchor: Head,
}

impl HeadRow {
    /// For a stream without a row.
    fn missing() -> Self {
        let genesis = Head { seq: 0, hash: chain::GENESIS.to_owned() };
        Self { head: genesis.clone(), anchor: genesis }
    }
}

impl Tx<'_> {
    pub fn tip(&self) -> Result<Tip> {
        let streams = self.heads()?.into_iter().map(|(stream, known)| (stream, known.head)).collect();
        let events = self.events_ever()?;
        let digest = digest::of_value(&(events, &streams))?;
        Ok(Tip { events, streams, digest })
    }

    /// Checks the whole store. With an earlier tip, also checks that no event it names is missing.
    pub fn verify(&self, earlier: Option<&Tip>) -> Result<Verification> {
        self.verify_to(earlier, AuditDepth::Full)
    }

    /// Walks every stream, and looks at the rest as deep as asked.
    pub fn verify_to(&self, earlier: Option<&Tip>, depth: AuditDepth) -> Result<Verification> {
        let mut found = Verification::default();
        if depth == AuditDepth::Full {
            found.damage = self.damage(FAULTS_MAX)?;
            self.part(&mut found, Tx::verify_schema)?;
            self.part(&mut found, Tx::verify_sequences)?;
        }
        self.part(&mut found, |tx, found| tx.verify_log(earlier, found))?;
        self.part(&mut found, Tx::verify_fencing)?;
        self.part(&mut found, |tx, found| tx.verify_seal(depth, found))?;
        Ok(found)
    }

    /// One part of a verification. What cannot be read is damage, and the other parts go on.
    fn part(
        &self,
        found: &mut Verification,
        check: impl FnOnce(&Self, &mut Verification) -> Result<()>,
    ) -> Result<()> {
        match check(self, found) {
            Err(Error::Corrupt(message)) => {
                found.damage.push(message);
                Ok(())
            }
            // The statements are right, so the tables are not.
            Err(Error::Sql(error)) => {
                found.damage.push(error.to_string());
                Ok(())
            }
            done => done,
        }
    }

    fn verify_log(&self, earlier: Option<&Tip>, found: &mut Verification) -> Result<()> {
        let heads = self.heads()?;
        let ever = self.events_ever()?;
        found.streams = heads.len();
        let mut accounted = 0;
        for (stream, known) in &heads {
            let promised = earlier.and_then(|tip| tip.streams.get(stream));
            let walk = AuditWalk::new(stream, known, promised, ever, found);
            accounted += self.walk(&Value::from(stream.clone()), walk)?;
        }
        let nothing = HeadRow::missing();
        for stream in self.streams_in_log()? {
            let name = shown(&stream);
            if !heads.contains_key(&name) {
                accounted += self.walk(&stream, AuditWalk::new(&name, &nothing, None, ever, found))?;
            }
        }
        if accounted != ever {
            let message = format!(
                "{ever} events were written but the streams account for {accounted}; a stream is missing, or its end"
            );
            found.missing(ALL_STREAMS, 0, message);
        }
        if let Some(tip) = earlier {
            compare(tip, &heads, ever, found);
        }
        Ok(())
    }

    /// How many events the stream accounts for, present or not.
    fn walk(&self, stream: &Value, mut walk: AuditWalk<'_>) -> Result<i64> {
        let columns = events::COLUMNS;
        let sql = format!("SELECT {columns}, substance FROM events WHERE stream = ?1 ORDER BY seq");
        let mut statement = self.prepare(&sql)?;
        let mut rows = statement.query(params![stream])?;
        while let Some(row) = rows.next()? {
            walk.step(row)?;
        }
        Ok(walk.end())
    }

    /// The names of all streams that have an event, each found from the previous one. A name may be damaged too.
    fn streams_in_log(&self) -> Result<Vec<Value>> {
        let first = "SELECT stream FROM events ORDER BY stream LIMIT 1";
        let next = "SELECT stream FROM events WHERE stream > ?1 ORDER BY stream LIMIT 1";
        let mut streams: Vec<Value> = Vec::new();
        loop {
            let found = match streams.last() {
                None => self.prepare(first)?.query_row([], |row| row.get(0)).optional()?,
                Some(last) => self.prepare(next)?.query_row([last], |row| row.get(0)).optional()?,
            };
            match found {
                Some(stream) => streams.push(stream),
                None => return Ok(streams),
            }
        }
    }

    fn heads(&self) -> Result<BTreeMap<String, HeadRow>> {
        let mut statement =
            self.prepare("SELECT stream, seq, hash, anchor_seq, anchor_hash FROM heads ORDER BY stream")?;
        let rows = statement.query_map([], |row| {
            let head = Head { seq: row.get(1)?, hash: row.get(2)? };
            let anchor = Head { seq: row.get(3)?, hash: row.get(4)? };
            Ok((row.get(0)?, HeadRow { head, anchor }))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// Reports what is in a tip but not in the store.
fn compare(tip: &Tip, heads: &BTreeMap<String, HeadRow>, ever: i64, found: &mut Verification) {
    if !tip.is_genuine() {
        let message = "the tip was changed after it was taken".to_owned();
        found.changed(StoreFault { stream: ALL_STREAMS.to_owned(), seq: 0, event_id: None, message });
    }
    if ever < tip.events {
        let message = format!("the tip has {} events, but only {ever} were ever written", tip.events);
        found.missing(ALL_STREAMS, 0, message);
    }
    for (stream, head) in tip.streams.iter().filter(|(stream, _)| !heads.contains_key(*stream)) {
        let message = format!("the whole stream is missing; the tip has {} events of it", head.seq);
        found.missing(stream, head.seq, message);
    }
}

fn shown(stream: &Value) -> String {
    match stream {
        Value::Text(name) => name.clone(),
        other => format!("{other:?}"),
    }
}
