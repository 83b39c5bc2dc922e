//! Shows what a task was given out with.

use contract::domain::run::Run;
use contract::domain::task::Task;
use contract::operator::Code;
use store::AssignmentRow;

use crate::context::Context;
use crate::crew::denial::deny;
use crate::crew::sheet::{find_task, reference};
use crate::error::Result;

/// An assignment and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub run: Run,
    pub task: Task,
    pub issued: AssignmentRow,
}

/// The last assignment of a task.
pub fn show(cx: &mut Context, run: &str, task: &str) -> Result<Shown> {
    let name = reference(task)?;
    let tx = cx.store.read()?;
    let (run, task) = find_task(&tx, run, &name)?;
    let issued = tx
        .last_assignment(&task.id)?
        .ok_or_else(|| deny(Code::MissingRequiredInput, "missing", format!("{name} was never given out")))?;
    Ok(Shown { run, task, issued })
}
