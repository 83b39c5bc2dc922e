//! Checks what the log does not prove: the seal over all tables, and the fencing counter.

use super::{AuditDepth, Verification};
use crate::error::Result;
use crate::key::StoreKey;
use crate::sqlite::seal::{SEALED_TABLES, SealedTable, Sum, Sums};
use crate::{Tx, known_key};

/// Where tokens are kept.
const HIGHEST_TOKEN: &str = "SELECT coalesce(max(token), 0) FROM (
     SELECT max(claim_token) AS token FROM tasks UNION ALL SELECT max(token) FROM locks
     UNION ALL SELECT max(token) FROM assignments UNION ALL SELECT max(token) FROM results
     UNION ALL SELECT max(token) FROM reservations UNION ALL SELECT max(token) FROM worklog_lines
     UNION ALL SELECT max(used_by) FROM approvals) AS tokens";

impl Tx<'_> {
    /// Compares the seals with the rows. Says so where they cannot be checked.
    pub(super) fn verify_seal(&self, depth: AuditDepth, found: &mut Verification) -> Result<()> {
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
        let tables = SEALED_TABLES.iter().filter(|table| depth == AuditDepth::Full || table.name == "heads");
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
}
