//! Archives and removes old events. `ops` decides which ones.

use contract::domain::retention::{Outline, StreamExtent};
use contract::domain::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Error, Result};

const EXTENT: &str = "SELECT stream, seq, anchor_seq, archived_seq FROM heads";

impl Tx<'_> {
    /// Streams whose name sorts after `after`, with the extent of each.
    pub fn streams_after(&self, after: &str, limit: usize) -> Result<Vec<(String, StreamExtent)>> {
        let mut statement = self.prepare(&format!("{EXTENT} WHERE stream > ?1 ORDER BY stream LIMIT ?2"))?;
        let found = statement.query_map(params![after, rows(limit)], extent_of)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    pub fn stream_extent(&self, stream: &str) -> Result<Option<StreamExtent>> {
        let mut statement = self.prepare(&format!("{EXTENT} WHERE stream = ?1"))?;
        let found = statement.query_row([stream], extent_of).optional()?;
        Ok(found.map(|(_, extent)| extent))
    }

    /// The events of a stream after number `after`, oldest first.
    pub fn outlines(&self, stream: &str, after: i64, limit: usize) -> Result<Vec<Outline>> {
        let mut statement = self.prepare(
            "SELECT seq, at, kind, task_id FROM events WHERE stream = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        )?;
        let found = statement.query_map(params![stream, after, rows(limit)], |row| {
            Ok(Outline {
                seq: row.get(0)?,
                at: Timestamp::from_millis(row.get(1)?),
                kind: row.get(2)?,
                task_id: row.get(3)?,
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Archives the stream's events up to `to`: lists leave them out.
    pub fn archive(&self, stream: &str, to: i64) -> Result<()> {
        self.change_one(
            "UPDATE heads SET archived_seq = CASE WHEN archived_seq < ?2 THEN ?2 ELSE archived_seq END
             WHERE stream = ?1 AND seq >= ?2",
            params![stream, to],
        )
    }

    /// Removes the stream's events up to `to` and keeps the last hash as the anchor that verification starts from.
    /// Returns that hash and how many events were removed.
    pub fn prune(&self, stream: &str, to: i64) -> Result<(String, usize)> {
        let mut last = self.prepare("SELECT hash FROM events WHERE stream = ?1 AND seq = ?2")?;
        let hash: Option<String> = last.query_row(params![stream, to], |row| row.get(0)).optional()?;
        let Some(hash) = hash else {
            return Err(Error::Corrupt(format!("event {to} of {stream} is missing")));
        };
        let gone = self
            .prepare("DELETE FROM events WHERE stream = ?1 AND seq <= ?2")?
            .execute(params![stream, to])?;
        self.change_one(
            "UPDATE heads SET anchor_seq = ?2, anchor_hash = ?3, 
             archived_seq = CASE WHEN archived_seq < ?2 THEN ?2 ELSE archived_seq END
             WHERE stream = ?1 AND anchor_seq < ?2",
            params![stream, to, hash],
        )?;
        Ok((hash, gone))
    }

    /// How many events were ever removed from the log.
    pub fn pruned_ever(&self) -> Result<i64> {
        let mut statement = self.prepare("SELECT coalesce(sum(anchor_seq), 0) FROM heads")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

fn extent_of(row: &Row<'_>) -> rusqlite::Result<(String, StreamExtent)> {
    Ok((row.get(0)?, StreamExtent { seq: row.get(1)?, anchor_seq: row.get(2)?, archived_seq: row.get(3)? }))
}
