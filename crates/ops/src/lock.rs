//! Locks: parts of a workspace that one task holds, with a token and a lease.

pub mod acquire;
pub mod check;
pub mod list;
pub mod release;
pub mod renew;

use contract::domain::crew::lock::{Held, admit};
use contract::domain::time::Now;
use serde::Serialize;
use store::Tx;

use crate::crew::denial::refused;
use crate::crew::sheet::{find_task, reference};
use crate::error::Result;

/// A lock as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockView {
    #[serde(flatten)]
    pub held: Held,
    pub run_uuid: Option<String>,
    /// Its lease has run out; only the watchdog's sweep frees it.
    pub is_expired: bool,
}

pub(crate) fn view(held: Held, now: &Now) -> LockView {
    let is_expired = held.active && !held.lease.is_live(now);
    LockView { run_uuid: held.run_id.uuid(), held, is_expired }
}

/// What a task holds, if the bearer of the token may speak for it.
pub(crate) fn admitted(tx: &Tx<'_>, run: &str, task: &str, token: i64, now: &Now) -> Result<Vec<Held>> {
    let (_, task) = find_task(tx, run, &reference(task)?)?;
    let held = tx.locks_of_task(&task.id)?;
    admit(&held, token, now).map_err(refused)?;
    Ok(held)
}
