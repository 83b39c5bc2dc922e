//! Appends one entry to a worklog, in the store and then in its file.

mod entry;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::lock::admit;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::LockToken;
use contract::domain::crew::worklog::WorklogLine;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::{Code, Options, validate_worklog};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{begins, outcome, path};
use crate::context::{Context, Session};
use crate::crew::denial::{denied, deny};
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::rows;
use crate::crew::token;
use crate::error::Result;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};
use entry::{judge_entry, whole};

pub struct Append;

impl Verb for Append {
    const NAME: &'static str = "worklog.append";
    const COMMAND: &'static str = "worklog append";
    const SUMMARY: &'static str = "Append an entry to a task's worklog";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(append);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// The token of the assignment; required while the task is in progress.
    #[serde(default)]
    pub token: Option<LockToken>,
    /// The entry. Its timestamp, run_id, task_id and actor may be missing.
    pub entry: Value,
    /// Refuse unknown fields without `x_`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub digest: String,
    pub entry: Value,
    /// The line of the file.
    pub number: i64,
    pub path: String,
    pub run_id: String,
    pub task_id: String,
    /// The file had other content; it was kept under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_set_aside: Option<String>,
}

/// Appends to the store, then to the file. Repeating a call that was interrupted in between writes the file.
pub fn append(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    let mut reply = cx.once_viewing(session, Append::NAME, request, |work| {
        let view = work.view;
        let state = LedgerState::of(work.tx, &request.run)?;
        let task = state.task(&name)?.clone();
        let token = may_write(work, &task, request.token, &name)?;
        let caller = match token {
            Some(token) => token::acting(work, &task, token)?,
            None => work.caller.clone(),
        };
        let work = &mut work.acting_as(&caller);
        let path = path(work.tx, &state, &name, view)?;
        let end = work.tx.worklog_end(&task.id)?;
        let last = end.as_ref().map(|end| &end.line);
        let entry = whole(work, &state, &name, last, request.entry.clone())?;
        judge_entry(&entry, request.strict)?;
        let line = WorklogLine::following(last, &begins(&state, &name)?, entry.clone());
        judge(work, &task, last, &line)?;
        let bytes = end.as_ref().map_or(0, |end| end.bytes).saturating_add_unsigned(length(&line));
        refuse_too_long(bytes, &name)?;
        let appended = CrewChange::WorklogAppended {
            run_id: state.run.asked.id.clone(),
            task_id: task.id.clone(),
            token,
            line: line.clone(),
        };
        let message =
            format!("{name} line {}: {}", line.number, entry["action"].as_str().unwrap_or_default());
        work.change(&rows::about(&state, &task), &message, &Change::Crew(appended))?;
        Ok(Answer {
            digest: line.digest,
            entry,
            number: line.number,
            path,
            run_id: state.run_uuid()?,
            task_id: name.to_string(),
            x_set_aside: None,
        })
    })?;
    // A file that was replaced is worth a mention, one that grew is not: a repeated call gives the same answer.
    reply.answer.x_set_aside = super::write_file(cx, &request.run, &request.task)?;
    Ok(reply)
}

/// While the task is in progress, only the holder of the token may write; otherwise any caller.
fn may_write(
    work: &EventWriter<'_, '_>,
    task: &Task,
    token: Option<LockToken>,
    name: &TaskRef,
) -> Result<Option<i64>> {
    match token {
        Some(token) => {
            let token = token::genuine(work.tx, &task.id, token)?;
            admit(&work.tx.locks_of_task(&task.id)?, token, work.now)
                .map_err(|fault| token::not_admitted(task, fault))?;
            Ok(Some(token))
        }
        None if task.status == Status::InProgress => {
            let message = format!("{name} is in progress, so token is required: only its worker may write");
            Err(deny(Code::MissingRequiredInput, "missing", message))
        }
        None => Ok(None),
    }
}

/// Validates the new line after the last one. If the task is blocked or failed, the line must say why.
fn judge(
    work: &EventWriter<'_, '_>,
    task: &Task,
    last: Option<&WorklogLine>,
    line: &WorklogLine,
) -> Result<()> {
    let before = last.map_or_else(String::new, |last| format!("{}\n", last.text));
    let options = Options { outcome: outcome(work.tx, task)?, ..Options::default() };
    let verdict = validate_worklog(format!("{before}{}\n", line.text).as_bytes(), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}

fn length(line: &WorklogLine) -> u64 {
    u64::try_from(line.text.len()).unwrap_or(u64::MAX).saturating_add(1)
}

fn refuse_too_long(bytes: i64, name: &TaskRef) -> Result<()> {
    if usize::try_from(bytes).is_ok_and(|bytes| bytes <= limits::WORKLOG_BYTES_MAX) {
        return Ok(());
    }
    let message = format!("the worklog of {name} would be larger than {} bytes", limits::WORKLOG_BYTES_MAX);
    Err(deny(Code::SchemaInvalid, "too_large", message))
}
