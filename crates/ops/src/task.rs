//! Tasks: the verbs of the agent contract.

pub mod begin;
pub mod complete;
pub mod create;
pub mod get;
pub mod list;
pub mod ready;
pub mod set_status;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::task::{Command, Task, TaskId, apply, decide};
use contract::secrets;
use store::Tx;

use crate::error::{Error, Result};
use crate::record::{About, Scribe};

/// The task with this id, or an error that names it.
pub(crate) fn required(tx: &Tx<'_>, id: &str) -> Result<Task> {
    let parsed: TaskId = Id::parse(id).map_err(|_| Error::not_found("task", id))?;
    tx.task(&parsed)?.ok_or_else(|| Error::not_found("task", id))
}

/// Why something is so, in a caller's words: bounded, and without secrets before it is stored anywhere.
pub(crate) fn reason(text: Option<&str>) -> Result<Option<String>> {
    text.map(|text| bounded("the reason", text).map(|text| secrets::scrub(text).into_owned())).transpose()
}

/// A text that goes into an event.
pub(crate) fn bounded<'t>(what: &str, text: &'t str) -> Result<&'t str> {
    if text.len() > limits::EVENT_MESSAGE_BYTES_MAX {
        let message = format!("{what} is longer than {} bytes", limits::EVENT_MESSAGE_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    Ok(text)
}

/// Decides and makes a change of a task, and keeps the value in step. Returns each event's number with its change.
pub(crate) fn carry_out(
    work: &mut Scribe<'_, '_>,
    task: &mut Task,
    command: &Command,
    message: &str,
) -> Result<Vec<(i64, Change)>> {
    let mut made = Vec::new();
    for decided in decide(task, command, work.now)? {
        let about = about(work.tx, task)?;
        let number = work.change(&about, message, &decided)?;
        apply(task, &decided, work.now.at);
        made.push((number, decided));
    }
    Ok(made)
}

/// Events of a run's task belong to the run's stream and share its correlation.
pub(crate) fn about(tx: &Tx<'_>, task: &Task) -> Result<About> {
    let mut about = About::task(task);
    if let Some(part) = &task.part
        && let Some(run) = tx.run(&part.run_id)?
    {
        about.stream = store::Stream::Run(part.run_id.clone());
        about.corr = run.asked.corr;
        about.reply_to = Some(run.asked.origin_id);
    }
    Ok(about)
}
