//! Reads one task.

use contract::domain::attempt::Attempt;
use contract::domain::code::ErrorCode;
use contract::domain::task::{Task, TaskId};

use crate::context::Context;
use crate::error::{Error, Result};

/// The task with this id. An unambiguous beginning of an id is enough.
pub fn get(cx: &mut Context, id: &str) -> Result<Task> {
    let tx = cx.store.read()?;
    match super::required(&tx, id) {
        Err(error) if error.code == ErrorCode::NotFound && id.starts_with("task_") && id.is_ascii() => {
            match tx.task_ids_with_prefix(id)?.as_slice() {
                [] => Err(error),
                [only] => super::required(&tx, only),
                _ => Err(Error::new(ErrorCode::Ambiguous, format!("`{id}` fits more than one task"))
                    .hint("give more of the id")),
            }
        }
        other => other,
    }
}

/// A task's attempts, oldest first.
pub fn attempts(cx: &mut Context, id: &TaskId) -> Result<Vec<Attempt>> {
    Ok(cx.store.read()?.attempts_of_task(id)?)
}
