//! Reading which projects a person trusts.

use contract::domain::time::Timestamp;
use contract::domain::trust::Trust;
use rusqlite::{OptionalExtension, Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

const COLUMNS: &str = "directory, digest, commands, trusted_by, trusted_at, basis";

impl Tx<'_> {
    /// What a person allowed in this directory.
    pub fn trust(&self, directory: &str) -> Result<Option<Trust>> {
        let sql = format!("SELECT {COLUMNS} FROM trusted_projects WHERE directory = ?1");
        let row = self.prepare(&sql)?.query_row([directory], |row| Ok(raw(row))).optional()?;
        row.transpose()
    }

    /// Everything that was allowed, by directory.
    pub fn trusts(&self, limit: usize) -> Result<Vec<Trust>> {
        let sql = format!("SELECT {COLUMNS} FROM trusted_projects ORDER BY directory LIMIT ?1");
        self.list(&sql, params![rows(limit)], raw)
    }
}

fn raw(row: &Row<'_>) -> Result<Trust> {
    let directory: String = row.get(0)?;
    let commands: String = row.get(2)?;
    let basis: Option<String> = row.get(5)?;
    let basis = basis
        .map(|text| serde_json::from_str(&text).map_err(|_| unreadable("basis", &directory, &text)))
        .transpose()?;
    Ok(Trust {
        commands: serde_json::from_str(&commands)
            .map_err(|_| unreadable("commands", &directory, &commands))?,
        digest: row.get(1)?,
        trusted_by: row.get(3)?,
        trusted_at: Timestamp::from_millis(row.get(4)?),
        basis: basis.unwrap_or_default(),
        directory,
    })
}
