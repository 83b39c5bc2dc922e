//! Worklogs: what a worker did, one line per step. The store decides; the file in the workspace is brought up to it.

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
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::paths::real_scopes;
use crate::error::Result;
use crate::host::{HostView, WorklogWrite};

/// The file of a worklog, and its content by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorklogFile {
    pub workspace: String,
    /// In the workspace, without symbolic links.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// What the file of a task's worklog must contain now.
pub fn file(cx: &mut Context, run: &str, task: &str) -> Result<WorklogFile> {
    let name = reference(task)?;
    cx.read_viewing(|tx, view| {
        let state = LedgerState::of(tx, run)?;
        let path = path(tx, &state, &name, view)?;
        let bytes = file_of(&tx.worklog(&state.task(&name)?.id)?);
        Ok(WorklogFile { workspace: state.run.asked.workspace.clone(), path, bytes })
    })
}

/// Brings the file up to the store. Returns the name under which a file with other content was kept.
pub(crate) fn write_file(cx: &mut Context, run: &str, task: &str) -> Result<Option<String>> {
    let place = file(cx, run, task)?;
    let host = cx.host();
    let mut wanted = || file(cx, run, task).map(|file| file.bytes);
    Ok(match host.write_worklog(&place.workspace, &place.path, &mut wanted)? {
        WorklogWrite::Replaced { set_aside } => Some(set_aside),
        WorklogWrite::Unchanged | WorklogWrite::Appended => None,
    })
}

/// The path of the last assignment, without symbolic links. A path outside the workspace is refused.
pub(crate) fn path(tx: &Tx<'_>, state: &LedgerState, name: &TaskRef, view: &HostView) -> Result<String> {
    let issued = tx.last_assignment(&state.task(name)?.id)?;
    let given = issued.and_then(|issued| issued.packet["task"]["worklog_path"].as_str().map(str::to_owned));
    let path = given.unwrap_or_else(|| default_path(name));
    let real = real_scopes(view, &state.run.asked.workspace, &[path])?;
    Ok(real.first().expect("BUG: one path has one name").to_string())
}

/// The default path of a worklog.
pub(crate) fn default_path(name: &TaskRef) -> String {
    format!("worklogs/{name}.jsonl")
}

/// The digest that the first line continues.
pub(crate) fn begins(state: &LedgerState, name: &TaskRef) -> Result<String> {
    Ok(beginning(&state.run_uuid()?, name.as_str()))
}

/// How the worker said the task ended; `None` if it sent no result.
pub(crate) fn outcome(tx: &Tx<'_>, task: &Task) -> Result<Option<Outcome>> {
    let Some(said) = tx.last_result(&task.id)? else { return Ok(None) };
    Ok(match (task.status, said.status.as_str()) {
        (Status::Blocked, "blocked") => Some(Outcome::Blocked),
        (Status::Failed, "failed") => Some(Outcome::Failed),
        _ => None,
    })
}

/// The last line of a worklog must say why the task did not finish, before the result says so. With `strict`, a task
/// without a worklog is refused: the contract wants one, and anybody could have written the file.
pub(crate) fn refuse_unexplained(tx: &Tx<'_>, task: &Task, outcome: Outcome, strict: bool) -> Result<()> {
    let Some(end) = tx.worklog_end(&task.id)? else {
        let message = "the task has no worklog; add entries with `writ worklog append`";
        return if strict { Err(deny(Code::MissingRequiredInput, "final_entry", message)) } else { Ok(()) };
    };
    let options = Options { outcome: Some(outcome), ..Options::default() };
    let verdict = validate_worklog(&file_of(&[end.line]), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}
