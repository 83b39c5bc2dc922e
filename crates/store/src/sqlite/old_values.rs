//! Rewrites rows that an older version wrote, so that they are what replaying its events gives.

use contract::domain::attempt::AttemptOutcome;
use contract::domain::reason::Reason;
use rusqlite::{Connection, params};
use serde::Serialize;

/// Writes reasons and warnings in their present form. A row that cannot be read stays as it is; verifying the store
/// reports it.
pub(crate) fn rewrite_reasons(connection: &Connection) -> rusqlite::Result<()> {
    rewrite(connection, "tasks", "blocked_reason", |text| json(&Reason::of_text(text)))?;
    rewrite(connection, "attempts", "outcome", |text| {
        json(&serde_json::from_str::<AttemptOutcome>(text).ok()?)
    })
}

fn rewrite(
    connection: &Connection,
    table: &str,
    column: &str,
    present: impl Fn(&str) -> Option<String>,
) -> rusqlite::Result<()> {
    let mut changed = Vec::new();
    let mut rows =
        connection.prepare(&format!("SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL"))?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (id, text): (String, String) = (row.get(0)?, row.get(1)?);
        changed.extend(present(&text).filter(|new| *new != text).map(|new| (id, new)));
    }
    let mut update = connection.prepare(&format!("UPDATE {table} SET {column} = ?2 WHERE id = ?1"))?;
    for (id, new) in changed {
        update.execute(params![id, new])?;
    }
    Ok(())
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
