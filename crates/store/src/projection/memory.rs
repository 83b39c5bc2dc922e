//! Applies changes of memories to the tables.

use contract::domain::memory::{MemoryScope, NewMemory};
use contract::domain::time::Timestamp;
use rusqlite::params;

use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// An existing key keeps its number, its creation time and its source.
    pub(super) fn memory_set(&self, memory: &NewMemory, at: Timestamp, number: i64) -> Result<()> {
        self.change_one(
            "INSERT INTO memories (id, scope, scope_id, key, value, value_type, kind, half_life_days, pinned,
             expires_at, source_task_id, source_event_id, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)
             ON CONFLICT (scope, scope_id, key) DO UPDATE SET value = excluded.value,
             value_type = excluded.value_type, kind = excluded.kind, half_life_days = excluded.half_life_days,
             pinned = excluded.pinned, expires_at = excluded.expires_at,
             source_task_id = coalesce(memories.source_task_id, excluded.source_task_id),
             updated_at = excluded.updated_at",
            params![
                memory.id,
                memory.place.scope.as_str(),
                memory.place.scope_id,
                memory.key,
                memory.value,
                memory.value_type.as_str(),
                memory.kind.as_str(),
                memory.half_life_days,
                memory.pinned,
                memory.expires_at.map(Timestamp::millis),
                memory.source_task_id,
                number,
                at.millis()
            ],
        )
    }

    pub(super) fn memory_pinned(
        &self,
        place: &MemoryScope,
        key: &str,
        pinned: bool,
        at: Timestamp,
    ) -> Result<()> {
        self.change_one(
            "UPDATE memories SET pinned = ?4, updated_at = ?5 WHERE scope = ?1 AND scope_id = ?2 AND key = ?3",
            params![place.scope.as_str(), place.scope_id, key, pinned, at.millis()],
        )
    }

    pub(super) fn memory_deleted(&self, place: &MemoryScope, key: &str) -> Result<()> {
        self.change_one(
            "DELETE FROM memories WHERE scope = ?1 AND scope_id = ?2 AND key = ?3",
            params![place.scope.as_str(), place.scope_id, key],
        )
    }

    pub(super) fn memory_collected(&self, ids: &[i64]) -> Result<()> {
        ids.iter().try_for_each(|id| self.change_one("DELETE FROM memories WHERE id = ?1", params![id]))
    }
}
