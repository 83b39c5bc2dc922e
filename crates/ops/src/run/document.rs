//! A document that a caller submits: its text or its JSON, and the directory that its paths start from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::run::DocumentKind;
use contract::intake::{self, Executors, Intake, PathMapping, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Error, Result};

/// A plan (TOML or JSON), AOP TASKs, an AEE task or a prompt: the text of its file, or the JSON in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the document must be text or a JSON object")]
pub enum DocumentInput {
    Text(String),
    Json(Map<String, Value>),
}

impl DocumentInput {
    /// What is read and digested. JSON is written without spaces.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            DocumentInput::Text(text) => Cow::Borrowed(text.as_bytes()),
            DocumentInput::Json(fields) => Cow::Owned(Value::Object(fields.clone()).to_string().into_bytes()),
        }
    }
}

/// A document that was understood, and the workspace it names.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadDocument {
    pub intake: Intake,
    /// An absolute path.
    pub workspace: String,
}

/// Reads a document with the executors that are configured for its directory.
pub(crate) fn read(
    cx: &Context,
    document: &DocumentInput,
    directory: &str,
    reading: &Reading,
) -> Result<ReadDocument> {
    let executors = cx.host().executors(directory)?;
    understand(&document.bytes(), directory, reading, &executors)
}

/// Options of a request for reading its document.
pub(super) fn reading(
    cx: &Context,
    name: Option<&str>,
    executor: Option<&str>,
    map: &BTreeMap<String, String>,
) -> Result<Reading> {
    let mapping = |(from, to): (&String, &String)| {
        let is_absolute = Path::new(to).is_absolute();
        PathMapping::new(from, to).filter(|_| is_absolute).ok_or_else(|| {
            let problem = format!("has `{from}` = `{to}`; both have to be absolute paths");
            Error::field(ErrorCode::InvalidInput, "map", &problem)
        })
    };
    Ok(Reading {
        name: name.map(str::to_owned),
        executor: executor.map(str::to_owned),
        map: map.iter().map(mapping).collect::<Result<_>>()?,
        now: cx.now().at,
    })
}

/// Reads a document, or returns everything that is wrong with it.
pub fn understand(
    bytes: &[u8],
    directory: &str,
    reading: &Reading,
    executors: &Executors,
) -> Result<ReadDocument> {
    let base = absolute(directory)?;
    let name = reading.name.as_deref();
    let what = |kind| name.map_or_else(|| title(kind).to_owned(), |name| format!("{} {name}", title(kind)));
    let mut intake = intake::read_as(bytes, executors, reading)
        .map_err(|refused| Error::refused(&what(refused.kind), refused))?;
    let workspace = intake.workspace.as_deref().map_or_else(|| base.clone(), |path| base.join(path));
    // Joining `.` leaves it in the path.
    let workspace: PathBuf = workspace.components().filter(|part| *part != Component::CurDir).collect();
    let workspace = workspace.to_string_lossy().into_owned();
    let findings = contract::plan::scopes::settle(&mut intake.plan, root_of(intake.kind), &workspace);
    if !findings.is_empty() {
        return Err(Error::invalid(&what(intake.kind), findings)
            .hint(format!("write below {workspace}, or set the workspace of the document")));
    }
    Ok(ReadDocument { intake, workspace })
}

fn absolute(directory: &str) -> Result<PathBuf> {
    if Path::new(directory).is_absolute() {
        return Ok(PathBuf::from(directory));
    }
    let message = format!("directory must be an absolute path, not `{directory}`");
    Err(Error::new(ErrorCode::InvalidInput, message))
}

/// Where the plan is in a document.
pub(super) fn root_of(kind: DocumentKind) -> &'static str {
    if kind == DocumentKind::AeeTask { "$.payload.plan" } else { "$" }
}

pub(super) fn title(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Plan => "plan",
        DocumentKind::AopTask => "AOP TASK",
        DocumentKind::AeeTask => "AEE task",
        DocumentKind::Ledger => "ledger",
    }
}
