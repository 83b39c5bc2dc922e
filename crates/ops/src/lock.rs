//! Locks: a task holds parts of a workspace, with a token and a lease.

pub mod acquire;
pub mod check;
pub mod force;
pub mod list;
pub mod release;
pub mod renew;

use contract::domain::crew::lock::{HeldLock, admit};
use contract::domain::crew::token::LockToken;
use contract::domain::time::Now;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::crew::denial::refused;
use crate::crew::ledger_state::{find_task, reference};
use crate::crew::token;
use crate::error::Result;

/// A lock as `lock.list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockView {
    #[serde(flatten)]
    pub held: HeldLock,
    pub run_uuid: Option<String>,
    /// Its lease has expired. Only a watchdog sweep releases it.
    pub is_expired: bool,
}

pub(crate) fn view(held: HeldLock, now: &Now) -> LockView {
    let is_expired = held.active && !held.lease.is_live(now);
    LockView { run_uuid: held.run_id.uuid(), held, is_expired }
}

/// The number of the token and the locks of a task, if the token is current.
pub(crate) fn admitted(
    tx: &Tx<'_>,
    run: &str,
    task: &str,
    token: LockToken,
    now: &Now,
) -> Result<(i64, Vec<HeldLock>)> {
    let (_, task) = find_task(tx, run, &reference(task)?)?;
    let held = tx.locks_of_task(&task.id)?;
    let token = token::genuine(tx, &task.id, token)?;
    admit(&held, token, now).map_err(refused)?;
    Ok((token, held))
}
