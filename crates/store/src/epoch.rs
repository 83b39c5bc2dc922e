//! The epoch of a store, and who may write in it.

use contract::domain::epoch::{Epoch, Halt, NotAdmitted, WritProgram};
use contract::domain::process::ProcessIdentity;
use contract::domain::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::conditions::rows;
use crate::error::{Error, Result, unreadable};
use crate::{Store, Tx};

/// A lease that is over on every boot.
const OVER: i64 = 0;

impl Store {
    /// Later transactions belong to the epoch that the store is in now.
    pub fn enter_epoch(&mut self) -> Result<()> {
        let number = self.read()?.epoch()?.number;
        self.epoch.set(number);
        Ok(())
    }

    /// The epoch in which this process opened the store.
    pub fn seen_epoch(&self) -> i64 {
        self.epoch.get()
    }

    /// Later transactions belong to an epoch that another part of this process has seen.
    pub fn stay_in_epoch(&self, seen: i64) {
        self.epoch.set(seen);
    }

    /// Whether the next transactions stay possible while the store is halted. Returns what held before.
    pub fn permit_while_halted(&self, is_permitted: bool) -> bool {
        self.is_permitted.replace(is_permitted)
    }
}

impl Tx<'_> {
    pub fn epoch(&self) -> Result<Epoch> {
        let sql = "SELECT number, is_halted, reason, decided_by, decided_at FROM epoch WHERE id = 1";
        let row = self.prepare(sql)?.query_row([], |row| {
            let (number, is_halted): (i64, bool) = (row.get(0)?, row.get(1)?);
            let at = Timestamp::from_millis(row.get(4)?);
            let halt = Halt { epoch: number, reason: row.get(2)?, by: row.get(3)?, at };
            Ok(Epoch { number, halt: is_halted.then_some(halt) })
        });
        Ok(row.optional()?.unwrap_or_default())
    }

    /// Refuses a transaction that does not belong to this epoch.
    pub(crate) fn admit(&self, seen: i64, is_permitted: bool) -> Result<()> {
        let epoch = self.epoch()?;
        epoch.admits(seen, is_permitted).map_err(|fault| match fault {
            NotAdmitted::Halted => Error::Halted { reason: epoch.halt.and_then(|halt| halt.reason) },
            NotAdmitted::Outlived => Error::Outlived,
        })
    }

    /// The programs that work without a run of their own, or died while they did.
    pub fn programs(&self, limit: usize) -> Result<Vec<WritProgram>> {
        let mut statement =
            self.prepare("SELECT process, command FROM programs ORDER BY process LIMIT ?1")?;
        let mut found = statement.query([rows(limit)])?;
        let mut programs = Vec::new();
        while let Some(row) = found.next()? {
            let (process, command): (String, String) = (row.get(0)?, row.get(1)?);
            let process: ProcessIdentity =
                serde_json::from_str(&process).map_err(|_| unreadable("process", &command, &process))?;
            programs.push(WritProgram { process, command });
        }
        Ok(programs)
    }

    /// Ends every lease on a run and on a lock. Row updates, not events.
    pub fn end_leases(&self) -> Result<()> {
        self.prepare("UPDATE runs SET lease_until = ?1 WHERE state = 'running' AND lease_until IS NOT NULL")?
            .execute(params![OVER])?;
        self.prepare("UPDATE locks SET lease_until = ?1 WHERE run_id > '' AND active = 1")?
            .execute(params![OVER])?;
        Ok(())
    }
}
