//! Verification of the log: integrity (no row changed) and completeness (none missing), told apart.

use std::collections::BTreeMap;

use contract::{chain, digest};
use serde::{Deserialize, Serialize};

use crate::Tx;
use crate::error::{Error, Result};

/// How many rows are held in memory while a stream is verified.
const STRETCH: i64 = 1000;
/// Faults listed; beyond this the log is beyond reading anyway.
const FAULTS_MAX: usize = 100;

/// Where every stream ended at one moment. Kept elsewhere, it makes a removed tail or stream visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    pub events: i64,
    pub streams: BTreeMap<String, Head>,
    /// Over all of the above.
    pub digest: String,
}

impl Tip {
    /// Whether its digest fits what it says.
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
pub struct Fault {
    pub stream: String,
    pub seq: i64,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    pub events: i64,
    pub streams: usize,
    /// Rows that were changed.
    pub integrity: Vec<Fault>,
    /// Rows that are missing.
    pub completeness: Vec<Fault>,
}

impl Verification {
    pub fn is_clean(&self) -> bool {
        self.integrity.is_empty() && self.completeness.is_empty()
    }
}

struct Anchored {
    stream: String,
    head: Head,
    anchor: Head,
}

impl Tx<'_> {
    pub fn tip(&self) -> Result<Tip> {
        let mut streams = BTreeMap::new();
        for known in self.heads()? {
            streams.insert(known.stream, known.head);
        }
        let events = self.events_ever()?;
        let digest = digest::of_value(&(events, &streams))?;
        Ok(Tip { events, streams, digest })
    }

    /// Walks every stream. With an earlier tip, also checks that nothing it names has gone.
    pub fn verify(&self, earlier: Option<&Tip>) -> Result<Verification> {
        let mut found =
            Verification { events: 0, streams: 0, integrity: Vec::new(), completeness: Vec::new() };
        let heads = self.heads()?;
        let mut accounted = 0;
        for known in &heads {
            found.streams += 1;
            accounted += known.head.seq;
            self.verify_stream(known, earlier, &mut found)?;
        }
        self.verify_strays(&mut found)?;
        let ever = self.events_ever()?;
        if accounted != ever {
            let message = format!(
                "{ever} events were written but the streams account for {accounted}; a stream is missing"
            );
            push(&mut found.completeness, "*", 0, message);
        }
        for (stream, head) in earlier.iter().flat_map(|tip| &tip.streams) {
            if heads.iter().all(|known| known.stream != *stream) {
                let message = format!("the whole stream is missing; the tip knows {} events of it", head.seq);
                push(&mut found.completeness, stream, head.seq, message);
            }
        }
        Ok(found)
    }

    fn verify_stream(&self, known: &Anchored, earlier: Option<&Tip>, found: &mut Verification) -> Result<()> {
        let stream = known.stream.as_str();
        let promised = earlier.and_then(|tip| tip.streams.get(stream));
        let mut last = known.anchor.clone();
        loop {
            let rows = match self.stretch(stream, last.seq, STRETCH) {
                Ok(rows) => rows,
                Err(Error::Corrupt(message)) => {
                    push(&mut found.integrity, stream, last.seq + 1, message);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            if rows.is_empty() {
                break;
            }
            for event in rows {
                found.events += 1;
                if event.seq != last.seq + 1 {
                    let message = format!("events {} to {} are missing", last.seq + 1, event.seq - 1);
                    push(&mut found.completeness, stream, last.seq + 1, message);
                } else if chain::link(stream, event.seq, &last.hash, &event.record)? != event.hash {
                    let message =
                        format!("event {} (number {}) was changed", event.record.event_id, event.id);
                    push(&mut found.integrity, stream, event.seq, message);
                }
                if promised.is_some_and(|head| head.seq == event.seq && head.hash != event.hash) {
                    push(&mut found.integrity, stream, event.seq, "is not what the tip says".to_owned());
                }
                last = Head { seq: event.seq, hash: event.hash };
            }
        }
        let end = promised.map_or(known.head.seq, |head| head.seq.max(known.head.seq));
        if last.seq < end {
            let message = format!("the tail is missing: events {} to {end}", last.seq + 1);
            push(&mut found.completeness, stream, last.seq + 1, message);
        } else if last.seq == known.head.seq && last.hash != known.head.hash {
            push(&mut found.integrity, stream, last.seq, "the head does not fit the last event".to_owned());
        }
        Ok(())
    }

    /// Events of a stream that the head table does not know.
    fn verify_strays(&self, found: &mut Verification) -> Result<()> {
        let mut statement = self.sql.prepare(
            "SELECT e.stream, max(e.seq) FROM events e LEFT JOIN heads h ON h.stream = e.stream
             GROUP BY e.stream HAVING max(h.seq) IS NULL OR max(e.seq) > max(h.seq)",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (stream, seq): (String, i64) = (row.get(0)?, row.get(1)?);
            push(
                &mut found.completeness,
                &stream,
                seq,
                "the head table does not know these events".to_owned(),
            );
        }
        Ok(())
    }

    fn heads(&self) -> Result<Vec<Anchored>> {
        let mut statement = self
            .sql
            .prepare("SELECT stream, seq, hash, anchor_seq, anchor_hash FROM heads ORDER BY stream")?;
        let rows = statement.query_map([], |row| {
            Ok(Anchored {
                stream: row.get(0)?,
                head: Head { seq: row.get(1)?, hash: row.get(2)? },
                anchor: Head { seq: row.get(3)?, hash: row.get(4)? },
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn push(faults: &mut Vec<Fault>, stream: &str, seq: i64, message: String) {
    if faults.len() < FAULTS_MAX {
        faults.push(Fault { stream: stream.to_owned(), seq, message });
    }
}
