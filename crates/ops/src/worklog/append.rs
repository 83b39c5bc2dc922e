//! Writes down one step behind the others.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::lock::admit;
use contract::domain::crew::worklog::Line;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::operator::ids::parse_utc;
use contract::operator::{Code, Options, TaskRef, validate_worklog};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{begins, outcome, path};
use crate::context::{Context, Key};
use crate::crew::denial::{denied, deny, refused};
use crate::crew::rows;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;
use crate::once::Reply;
use crate::record::{EventWriter, scrubbed};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// The token of the assignment; none where nobody is at work.
    #[serde(default)]
    pub token: Option<i64>,
    /// The entry. Its time, run, task and actor may be left out.
    pub entry: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    pub task_id: String,
    /// The line of the file.
    pub number: i64,
    pub digest: String,
    pub path: String,
    pub entry: Value,
}

/// Appends to the store. Whoever calls lets the file follow; one that died in between repeats the call.
pub fn append(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    cx.once_viewing(key, "worklog.append", request, |work| {
        let view = work.view;
        let sheet = Sheet::of(work.tx, &request.run)?;
        let task = sheet.task(&name)?.clone();
        may_write(work, &task, request.token, &name)?;
        let path = path(work.tx, &sheet, &name, view)?;
        let end = work.tx.worklog_end(&task.id)?;
        let last = end.as_ref().map(|end| &end.line);
        let entry = whole(work, &sheet, &name, last, request.entry.clone())?;
        let line = Line::following(last, &begins(&sheet, &name)?, entry.clone());
        judge(work, &task, last, &line)?;
        let bytes = end.as_ref().map_or(0, |end| end.bytes).saturating_add_unsigned(length(&line));
        refuse_too_long(bytes, &name)?;
        let appended = CrewChange::WorklogAppended {
            run_id: sheet.run.asked.id.clone(),
            task_id: task.id.clone(),
            token: request.token,
            line: line.clone(),
        };
        let message =
            format!("{name} line {}: {}", line.number, entry["action"].as_str().unwrap_or_default());
        work.change(&rows::about(&sheet, &task), &message, &Change::Crew(appended))?;
        Ok(Answer {
            run_id: sheet.run_uuid()?,
            task_id: name.to_string(),
            number: line.number,
            digest: line.digest,
            path,
            entry,
        })
    })
}

/// Only who holds the task; where nobody is at work, anybody who may call at all.
fn may_write(work: &EventWriter<'_, '_>, task: &Task, token: Option<i64>, name: &TaskRef) -> Result<()> {
    match token {
        Some(token) => admit(&work.tx.locks_of_task(&task.id)?, token, work.now).map_err(refused),
        None if task.status == Status::InProgress => {
            let message = format!("{name} is in progress, so only its worker writes, with its token");
            Err(deny(Code::ConcurrencyConflict, "stale_fencing_token", message))
        }
        None => Ok(()),
    }
}

/// The entry with what only the store knows for sure, and without secrets.
fn whole(
    work: &EventWriter<'_, '_>,
    sheet: &Sheet,
    name: &TaskRef,
    last: Option<&Line>,
    entry: Value,
) -> Result<Value> {
    let mut entry = scrubbed(entry);
    let run_id = sheet.run_uuid()?;
    let Some(fields) = entry.as_object_mut() else {
        return Err(deny(Code::SchemaInvalid, "not_an_object", "an entry is an object"));
    };
    let last: Value = last.and_then(|last| serde_json::from_str(&last.text).ok()).unwrap_or_default();
    let latest = last["timestamp"].as_str().and_then(parse_utc).unwrap_or(Timestamp::from_millis(0));
    let fill = [
        ("timestamp", json!(work.now.at.max(latest))),
        ("run_id", json!(run_id)),
        ("task_id", json!(name)),
        ("actor", json!(work.caller.agent.as_str())),
        ("files_touched", json!([])),
        ("decision", json!("")),
        ("result", json!("")),
        ("next_step", json!("")),
    ];
    for (field, value) in fill {
        fields.entry(field).or_insert(value);
    }
    let same =
        |field: &str, own: &str| fields[field].as_str().is_some_and(|said| said.eq_ignore_ascii_case(own));
    if !same("run_id", &run_id) || fields["task_id"] != name.as_str() {
        let message = format!("the entry belongs to another task than {name}");
        return Err(deny(Code::NonCompliant, "identity_mismatch", message));
    }
    Ok(entry)
}

/// The contract judges the new line behind the last one; of a task that did not end well, it must say why.
fn judge(work: &EventWriter<'_, '_>, task: &Task, last: Option<&Line>, line: &Line) -> Result<()> {
    let before = last.map_or_else(String::new, |last| format!("{}\n", last.text));
    let options = Options { outcome: outcome(work.tx, task)?, ..Options::default() };
    let verdict = validate_worklog(format!("{before}{}\n", line.text).as_bytes(), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}

fn length(line: &Line) -> u64 {
    u64::try_from(line.text.len()).unwrap_or(u64::MAX).saturating_add(1)
}

fn refuse_too_long(bytes: i64, name: &TaskRef) -> Result<()> {
    if usize::try_from(bytes).is_ok_and(|bytes| bytes <= limits::WORKLOG_BYTES_MAX) {
        return Ok(());
    }
    let message = format!("the worklog of {name} would pass {} bytes", limits::WORKLOG_BYTES_MAX);
    Err(deny(Code::SchemaInvalid, "too_large", message))
}
