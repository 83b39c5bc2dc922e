//! Worklogs: what a worker did, one line per step. The store decides; the file in the workspace is brought up to it.

pub mod append;
pub(crate) mod place;
pub mod show;
pub mod verify;

use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::worklog::{beginning, file_of};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::{Code, Options, Outcome, validate_worklog};
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
    let path = given.map_or_else(|| default_path(tx, state, name), Ok)?;
    let real = real_scopes(view, &state.run.asked.workspace, &[path])?;
    Ok(real.first().expect("BUG: one path has one name").to_string())
}

/// The default path of a worklog. Runs in one workspace number their tasks alike, so all but the first have a directory
/// of their own.
pub(crate) fn default_path(tx: &Tx<'_>, state: &LedgerState, name: &TaskRef) -> Result<String> {
    let first = tx.first_ledger_in(&state.run.asked.workspace)?;
    if first.is_none_or(|first| first == state.run.asked.id) {
        return Ok(format!("worklogs/{name}.jsonl"));
    }
    Ok(format!("worklogs/{}/{name}.jsonl", state.run_uuid()?))
}

/// The digest that the first line continues.
pub(crate) fn begins(state: &LedgerState, name: &TaskRef) -> Result<String> {
    Ok(beginning(&state.run_uuid()?, name.as_str()))
}

/// How a task that did not finish ended, by a worker or by writ itself.
pub(crate) fn ending(task: &Task) -> Option<Outcome> {
    match task.status {
        Status::Blocked => Some(Outcome::Blocked),
        Status::Failed => Some(Outcome::Failed),
        Status::Todo | Status::InProgress | Status::Done | Status::Canceled => None,
    }
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

/// A result that is not done needs a last worklog line with the reason: the code and the next step, written under
/// the same token. With `strict`, a result that is done needs a worklog too.
pub(crate) fn refuse_unexplained(
    tx: &Tx<'_>,
    task: &Task,
    (outcome, token): (Outcome, i64),
    strict: bool,
) -> Result<()> {
    let end = tx.worklog_end(&task.id)?;
    if outcome == Outcome::Done {
        return match end {
            None if strict => Err(missing_end("the task has no worklog")),
            None | Some(_) => Ok(()),
        };
    }
    let Some(end) = end.filter(|end| end.token == Some(token)) else {
        return Err(missing_end(&format!("the worklog has no entry that says why the task is {outcome}")));
    };
    let options = Options { outcome: Some(outcome), ..Options::default() };
    let verdict = validate_worklog(&file_of(&[end.line]), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict).hint(FINAL_ENTRY)) }
}

/// What a blocked or failed task needs in its worklog.
const FINAL_ENTRY: &str =
    "append a last entry with `code` and `next_step` by `writ worklog append`, then submit the result again";

fn missing_end(message: &str) -> crate::Error {
    deny(Code::MissingRequiredInput, "final_entry", message).hint(FINAL_ENTRY)
}
