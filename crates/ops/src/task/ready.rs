//! What could be started now.

use contract::domain::limits;
use contract::domain::task::Task;

use crate::context::Context;
use crate::error::Result;

/// Tasks that wait for nothing: highest priority first, then oldest. Tasks of a run belong to its engine and are
/// shown too, so that a person sees all that is ready.
pub fn ready(cx: &mut Context, limit: usize) -> Result<Vec<Task>> {
    let tx = cx.store.read()?;
    Ok(tx.ready_tasks(limit.clamp(1, limits::LIST_ROWS_MAX))?)
}
