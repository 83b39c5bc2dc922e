//! Worklogs: what a worker did, one line a step. The store is the truth, and the file in the workspace follows it.

pub mod append;
pub(crate) mod place;
pub mod show;
pub mod verify;

use contract::domain::crew::worklog::{beginning, file_of};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::{Code, Options, Outcome, TaskRef, validate_worklog};
use store::Tx;

use crate::context::Context;
use crate::crew::denial::{denied, deny};
use crate::crew::paths::real_scopes;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;
use crate::host::HostView;

/// Where a worklog is kept as a file, and what belongs into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub workspace: String,
    /// In the workspace, with no link on the way.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// What the file of a task's worklog has to hold now.
pub fn kept(cx: &mut Context, run: &str, task: &str) -> Result<Kept> {
    let name = reference(task)?;
    cx.read_viewing(|tx, view| {
        let sheet = Sheet::of(tx, run)?;
        let path = path(tx, &sheet, &name, view)?;
        let bytes = file_of(&tx.worklog(&sheet.task(&name)?.id)?);
        Ok(Kept { workspace: sheet.run.asked.workspace.clone(), path, bytes })
    })
}

/// The path that the task was last given out with, under its real name. One that leads out of the workspace is refused.
pub(crate) fn path(tx: &Tx<'_>, sheet: &Sheet, name: &TaskRef, view: &HostView) -> Result<String> {
    let issued = tx.last_assignment(&sheet.task(name)?.id)?;
    let given = issued.and_then(|issued| issued.packet["task"]["worklog_path"].as_str().map(str::to_owned));
    let path = given.unwrap_or_else(|| default_path(name));
    let real = real_scopes(view, &sheet.run.asked.workspace, &[path])?;
    Ok(real.first().expect("BUG: one path has one name").to_string())
}

/// Where a worklog is kept if nobody says otherwise.
pub(crate) fn default_path(name: &TaskRef) -> String {
    format!("worklogs/{name}.jsonl")
}

/// What the first line names.
pub(crate) fn begins(sheet: &Sheet, name: &TaskRef) -> Result<String> {
    Ok(beginning(&sheet.run_uuid()?, name.as_str()))
}

/// How the task ended by its worker's own word; a silent one has said nothing.
pub(crate) fn outcome(tx: &Tx<'_>, task: &Task) -> Result<Option<Outcome>> {
    let Some(said) = tx.last_result(&task.id)? else { return Ok(None) };
    Ok(match (task.status, said.status.as_str()) {
        (Status::Blocked, "blocked") => Some(Outcome::Blocked),
        (Status::Failed, "failed") => Some(Outcome::Failed),
        _ => None,
    })
}

/// A worker that kept a worklog says in its last line why it did not finish, before it says so in its result. Where
/// `strict`, one that kept none is refused: the contract wants a worklog, and the file alone may be anybody's.
pub(crate) fn refuse_unexplained(tx: &Tx<'_>, task: &Task, outcome: Outcome, strict: bool) -> Result<()> {
    let Some(end) = tx.worklog_end(&task.id)? else {
        let message = "nothing is written down about the task; `writ worklog append` does so";
        return if strict { Err(deny(Code::MissingRequiredInput, "final_entry", message)) } else { Ok(()) };
    };
    let options = Options { outcome: Some(outcome), ..Options::default() };
    let verdict = validate_worklog(&file_of(&[end.line]), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}
