//! Reading memories.

use contract::domain::memory::{Memory, MemoryKind, MemoryScope, NewMemory, Scope, ValueType};
use contract::domain::time::Timestamp;
use rusqlite::{Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

pub(crate) const COLUMNS: &str = "m.id, m.scope, m.scope_id, m.key, m.value, m.value_type, m.kind, m.half_life_days, m.pinned, \
     m.expires_at, m.source_task_id, m.source_event_id, m.created_at, m.updated_at, m.access_count, \
     m.last_accessed_at";

/// Not expired. Pinned memories never expire.
pub(crate) const ALIVE: &str = "(m.pinned = 1 OR m.expires_at IS NULL OR m.expires_at > ?1)";

impl Tx<'_> {
    /// The memory under this key, expired or not.
    pub fn memory(&self, place: &MemoryScope, key: &str) -> Result<Option<Memory>> {
        let sql =
            format!("SELECT {COLUMNS} FROM memories m WHERE m.scope = ?1 AND m.scope_id = ?2 AND m.key = ?3");
        self.first(&sql, [place.scope.as_str(), &place.scope_id, key], memory_of)
    }

    /// The memories of one place that have not expired at `at`: pinned ones first, then the newest.
    pub fn memories(&self, place: &MemoryScope, at: Timestamp, limit: usize) -> Result<Vec<Memory>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM memories m WHERE m.scope = ?2 AND m.scope_id = ?3 AND {ALIVE}
             ORDER BY m.pinned DESC, m.updated_at DESC, m.id DESC LIMIT ?4"
        );
        let values = params![at.millis(), place.scope.as_str(), place.scope_id, rows(limit)];
        self.list(&sql, values, memory_of)
    }

    /// Memories that have expired at `at`, longest expired first. Pinned ones never expire.
    pub fn expired_memories(&self, at: Timestamp, limit: usize) -> Result<Vec<i64>> {
        let mut statement = self.prepare(
            "SELECT id FROM memories WHERE expires_at IS NOT NULL AND pinned = 0 AND expires_at <= ?1
             ORDER BY expires_at, id LIMIT ?2",
        )?;
        let ids = statement.query_map(params![at.millis(), rows(limit)], |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    /// Records that memories were shown to an agent. A row update, not an event.
    pub fn memories_handed_out(&self, ids: &[i64], at: Timestamp) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut statement = self.prepare(
            "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ?2 WHERE id = ?1",
        )?;
        for id in ids {
            statement.execute(params![id, at.millis()])?;
        }
        Ok(())
    }
}

pub(crate) fn memory_of(row: &Row<'_>) -> Result<Memory> {
    let id: i64 = row.get(0)?;
    let bad = |what: &str, word: &str| unreadable(what, &format!("memory {id}"), word);
    let scope: String = row.get(1)?;
    let value_type: String = row.get(5)?;
    let kind: String = row.get(6)?;
    let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
    let place = MemoryScope {
        scope: Scope::parse(&scope).ok_or_else(|| bad("scope", &scope))?,
        scope_id: row.get(2)?,
    };
    let written = NewMemory {
        id,
        place,
        key: row.get(3)?,
        value: row.get(4)?,
        value_type: ValueType::parse(&value_type).ok_or_else(|| bad("type", &value_type))?,
        kind: MemoryKind::parse(&kind).ok_or_else(|| bad("kind", &kind))?,
        half_life_days: row.get(7)?,
        pinned: row.get(8)?,
        expires_at: time(row.get(9)?),
        source_task_id: row.get(10)?,
    };
    Ok(Memory {
        written,
        source_event_id: row.get(11)?,
        created_at: Timestamp::from_millis(row.get(12)?),
        updated_at: Timestamp::from_millis(row.get(13)?),
        access_count: row.get(14)?,
        last_accessed_at: time(row.get(15)?),
    })
}
