//! Prints the audit records of an AOP session, or writes their files again.

use contract::domain::limits;
use contract::domain::run::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::trail::{self, RunRecords};
use crate::context::{Context, Session};
use crate::error::Result;
use crate::host::AuditBatch;
use crate::verb::{Function, Surface, Verb};

/// Prints the records.
pub struct Audit;

impl Verb for Audit {
    const NAME: &'static str = "session.audit";
    const COMMAND: &'static str = "session audit";
    const SUMMARY: &'static str = "Print the audit records of an AOP session";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request: &Request| audit(cx, &request.session));
}

/// Writes the files. It shares its command with [`Audit`]: a directory decides.
pub struct WriteAudit;

impl Verb for WriteAudit {
    const NAME: &'static str = "session.write_audit";
    const COMMAND: &'static str = "session audit";
    const SUMMARY: &'static str = "Write the audit files of an AOP session into a directory";
    const SURFACE: Surface = Surface::Writ;
    type Request = WriteRequest;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(write);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The session's id.
    pub session: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    /// The session's id.
    pub session: String,
    /// The absolute path of the directory.
    pub directory: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub session_id: String,
    pub count: usize,
    /// How many files were not there or differed, where files were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<usize>,
    /// Oldest first, each run after the other. The newest are left out where there are too many.
    pub records: Vec<AuditFile>,
    /// How many are left out of `records`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: usize,
    /// How many events could not be read, so that their records are missing.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unread: usize,
    /// Runs of which old events were removed. Their records may lack what those events said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned_runs: Vec<RunId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// One record and the name of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFile {
    pub file: String,
    pub record: Value,
}

pub fn audit(cx: &mut Context, session: &str) -> Result<Answer> {
    derive(cx, session, |_, _| Ok(None))
}

pub fn write(cx: &mut Context, _: &Session, request: &WriteRequest) -> Result<Answer> {
    let workspaces = trail::workspaces(cx, &request.session)?;
    derive(cx, &request.session, |cx, of_run| {
        let files: Vec<(String, Vec<u8>)> = of_run.records.iter().map(trail::file_of).collect();
        // What is there of such a run was derived from more events.
        let replaces = !of_run.is_pruned;
        let batch =
            AuditBatch { directory: &request.directory, workspaces: &workspaces, files: &files, replaces };
        Ok(Some(cx.host().write_audit(&batch)?))
    })
}

/// Derives the records of one run after the other. `each` returns the number of files it wrote.
fn derive(
    cx: &mut Context,
    session: &str,
    mut each: impl FnMut(&mut Context, &RunRecords) -> Result<Option<usize>>,
) -> Result<Answer> {
    let mut answer = Answer {
        session_id: session.to_owned(),
        count: 0,
        written: None,
        records: Vec::new(),
        left_out: 0,
        unread: 0,
        pruned_runs: Vec::new(),
    };
    for run in trail::runs_of(cx, session)? {
        let of_run = trail::of_run(cx, &run)?;
        if let Some(written) = each(cx, &of_run)? {
            *answer.written.get_or_insert(0) += written;
        }
        answer.count += of_run.records.len();
        answer.unread += of_run.unread;
        if of_run.is_pruned {
            answer.pruned_runs.push(run.asked.id);
        }
        let room = limits::AUDIT_RECORDS_MAX - answer.records.len();
        let listed = of_run.records.iter().take(room);
        answer.records.extend(listed.map(|it| AuditFile { file: it.file_name(), record: json!(it) }));
    }
    answer.left_out = answer.count - answer.records.len();
    Ok(answer)
}
