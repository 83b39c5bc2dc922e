//! Shows who holds what.

use contract::domain::crew::lock::Held;
use contract::domain::limits;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::operator::fencing::Refused;
use serde::{Deserialize, Serialize};

use super::{LockView, view};
use crate::context::Context;
use crate::crew::denial::refused;
use crate::crew::grants;
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

/// What other runs hold in and around the workspace of this one, apart from the tasks from inside which it was started.
pub fn around(cx: &mut Context, run: &Run) -> Result<Vec<Held>> {
    let tx = cx.store.read()?;
    let workspace =
        Scope::parse(&run.asked.workspace, None).map_err(|fault| refused(Refused::Scope(fault)))?;
    let above = grants::ancestors(&tx, run)?;
    let mut held = tx.locks_around(&workspace)?;
    held.retain(|lock| lock.run_id != run.asked.id && !above.contains(&lock.task_id));
    Ok(held)
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
