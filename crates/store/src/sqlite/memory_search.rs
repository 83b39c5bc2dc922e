//! Full-text search in memories, with `SQLite`'s FTS.

use contract::domain::memory::Memory;
use contract::domain::time::Timestamp;
use rusqlite::params;

use crate::Tx;
use crate::conditions::rows;
use crate::error::Result;
use crate::memories::{ALIVE, COLUMNS, memory_of};

impl Tx<'_> {
    /// Memories that have not expired at `at` and contain every word, best match first.
    pub fn memories_with(&self, words: &[&str], at: Timestamp, limit: usize) -> Result<Vec<Memory>> {
        // Quote each word, so that user input is never query syntax.
        let quoted: Vec<String> =
            words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM memory_words w JOIN memories m ON m.id = w.rowid
             WHERE memory_words MATCH ?2 AND {ALIVE} ORDER BY w.rank, m.id LIMIT ?3"
        );
        self.list(&sql, params![at.millis(), quoted.join(" "), rows(limit)], memory_of)
    }
}
