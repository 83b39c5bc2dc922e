//! The lock table.

use contract::domain::crew::lock::{HeldLock, LockMode};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::process::ProcessIdentity;
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use contract::domain::time::{Lease, Now, Timestamp};
use rusqlite::{Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

const COLUMNS: &str = "token, scope, run_id, task_id, reference, workspace, place, mode, active, timeout_ms, \
     lease_boot_id, lease_until, granted_at, released_at, release_reason, holder";

impl Tx<'_> {
    /// Active locks at `place`, below it or above it. Ignores case; a caller that distinguishes case filters the result.
    pub fn locks_around(&self, place: &Scope) -> Result<Vec<HeldLock>> {
        let folded = place.folded();
        let text = folded.as_str();
        let at = format!("SELECT {COLUMNS} FROM locks WHERE active = 1 AND folded = ?1");
        let mut found = Vec::new();
        let above = text.match_indices('/').map(|(at, _)| if at == 0 { "/" } else { &text[..at] });
        let mut names: Vec<&str> = above.chain([text]).collect();
        names.dedup();
        for name in names {
            found.extend(self.list(&at, params![name], held_of)?);
        }
        // `0` is the character after `/`.
        let (first, last) = if text == "/" {
            ("/".to_owned(), "0".to_owned())
        } else {
            (format!("{text}/"), format!("{text}0"))
        };
        let below = format!(
            "SELECT {COLUMNS} FROM locks WHERE active = 1 AND folded > ?1 AND folded < ?2 ORDER BY folded"
        );
        found.extend(self.list(&below, params![first, last], held_of)?);
        Ok(found)
    }

    /// The active locks of a task.
    pub fn locks_of_task(&self, task: &TaskId) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE task_id = ?1 AND active = 1 ORDER BY token");
        self.list(&sql, params![task.as_str()], held_of)
    }

    /// The active locks of a run's tasks.
    pub fn active_locks_of_run(&self, run: &RunId) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE run_id = ?1 AND active = 1 ORDER BY token");
        self.list(&sql, params![run.as_str()], held_of)
    }

    /// All locks that a run ever held, newest first.
    pub fn lock_history(&self, run: &RunId, limit: usize) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE run_id = ?1 ORDER BY token DESC LIMIT ?2");
        self.list(&sql, params![run.as_str(), rows(limit)], held_of)
    }

    /// Locks of this token or a later one that are active, or were released at or after a time.
    pub fn locks_since(&self, token: i64, own: i64, at: Timestamp) -> Result<Vec<HeldLock>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM locks
             WHERE token >= ?1 AND (active = 1 OR released_at >= ?2 OR token > ?3) ORDER BY token"
        );
        self.list(&sql, params![token, at.millis(), own], held_of)
    }

    /// All active locks in the store.
    pub fn active_locks(&self, limit: usize) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE active = 1 ORDER BY folded LIMIT ?1");
        self.list(&sql, params![rows(limit)], held_of)
    }

    /// All locks that a task ever held, newest first.
    pub fn lock_history_of_task(&self, task: &TaskId, limit: usize) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE task_id = ?1 ORDER BY token DESC LIMIT ?2");
        self.list(&sql, params![task.as_str(), rows(limit)], held_of)
    }

    /// The locks under a token, held or released.
    pub fn locks_of_token(&self, token: i64) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE token = ?1");
        self.list(&sql, params![token], held_of)
    }

    /// Locks that were granted after this token, oldest first.
    pub fn locks_granted_after(&self, token: i64, limit: usize) -> Result<Vec<HeldLock>> {
        let sql = format!("SELECT {COLUMNS} FROM locks WHERE token > ?1 ORDER BY token LIMIT ?2");
        self.list(&sql, params![token, rows(limit)], held_of)
    }

    /// Renews the locks of a live holder. A row update, not an event. `false` if no lock is held under the token.
    pub fn renew_locks(&self, token: i64, lease: &Lease) -> Result<bool> {
        let renewed = self
            .prepare("UPDATE locks SET lease_boot_id = ?2, lease_until = ?3 WHERE token = ?1 AND active = 1")?
            .execute(params![token, lease.boot_id, lease.until_millis])?;
        Ok(renewed > 0)
    }

    /// Active locks whose lease has expired by `now`. Reads only active locks.
    pub fn expired_locks(&self, now: &Now) -> Result<Vec<HeldLock>> {
        let held = self.active_locks(usize::MAX)?;
        Ok(held.into_iter().filter(|lock| !lock.lease.is_live(now)).collect())
    }
}

fn held_of(row: &Row<'_>) -> Result<HeldLock> {
    let token: i64 = row.get(0)?;
    let owner = format!("lock {token}");
    let text = |column: usize| row.get::<_, String>(column);
    let scope = |column: usize| -> Result<Scope> {
        let text = text(column)?;
        Scope::parse(&text, None).map_err(|_| unreadable("scope", &owner, &text))
    };
    let (run, task, reference, mode) = (text(2)?, text(3)?, text(4)?, text(7)?);
    Ok(HeldLock {
        token,
        run_id: Id::parse(&run).map_err(|_| unreadable("run", &owner, &run))?,
        task_id: Id::parse(&task).map_err(|_| unreadable("task", &owner, &task))?,
        reference: TaskRef::parse(&reference).ok_or_else(|| unreadable("name", &owner, &reference))?,
        workspace: text(5)?,
        scope: scope(1)?,
        place: scope(6)?,
        mode: LockMode::parse(&mode).ok_or_else(|| unreadable("mode", &owner, &mode))?,
        active: row.get(8)?,
        timeout_ms: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
        lease: Lease { boot_id: text(10)?, until_millis: row.get(11)? },
        granted_at: Timestamp::from_millis(row.get(12)?),
        released_at: row.get::<_, Option<i64>>(13)?.map(Timestamp::from_millis),
        release_reason: row.get(14)?,
        holder: row.get::<_, Option<String>>(15)?.map(|text| holder_of(&owner, &text)).transpose()?,
    })
}

fn holder_of(owner: &str, text: &str) -> Result<ProcessIdentity> {
    serde_json::from_str(text).map_err(|_| unreadable("holder", owner, text))
}
