//! Shows who holds what.

use contract::domain::limits;
use serde::{Deserialize, Serialize};

use super::{LockView, view};
use crate::context::Context;
use crate::crew::sheet::find_run;
use crate::error::Result;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub run: Option<String>,
    /// Also what was given back; needs a run.
    #[serde(default)]
    pub history: bool,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Vec<LockView>> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let locks = match &request.run {
        Some(run) => {
            let id = find_run(&tx, run)?.asked.id;
            if request.history {
                tx.lock_history(&id, limits::LIST_ROWS_MAX)?
            } else {
                tx.active_locks_of_run(&id)?
            }
        }
        None => tx.active_locks(limits::LIST_ROWS_MAX)?,
    };
    Ok(locks.into_iter().map(|held| view(held, &now)).collect())
}
