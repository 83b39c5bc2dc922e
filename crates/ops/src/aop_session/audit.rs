//! Prints the audit records of an AOP session, or writes their files again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::trail;
use crate::context::{Caller, Context};
use crate::error::Result;
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
    const FUNCTION: Function<Self> = Function::Reads(|cx, request: &Request| audit(cx, &request.session));
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
    /// Oldest first, each run after the other.
    pub records: Vec<AuditFile>,
}

/// One record and the name of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFile {
    pub file: String,
    pub record: Value,
}

pub fn audit(cx: &mut Context, session: &str) -> Result<Answer> {
    let records = trail::of_session(cx, session)?.into_iter().flat_map(|of_run| of_run.records);
    let records: Vec<AuditFile> =
        records.map(|record| AuditFile { file: record.file_name(), record: json!(record) }).collect();
    Ok(Answer { session_id: session.to_owned(), count: records.len(), written: None, records })
}

pub fn write(cx: &mut Context, _: &Caller, request: &WriteRequest) -> Result<Answer> {
    let records = trail::of_session(cx, &request.session)?.into_iter().flat_map(|of_run| of_run.records);
    let files: Vec<(String, Vec<u8>)> = records.map(|record| trail::file_of(&record)).collect();
    let written = cx.host().write_audit(&request.directory, &files)?;
    Ok(Answer { written: Some(written), ..audit(cx, &request.session)? })
}
