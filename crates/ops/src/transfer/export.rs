//! Writes every row of every table as lines of JSON.

use std::io::Write;
use std::path::Path;

use contract::domain::code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TransferSummary;
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Export;

impl Verb for Export {
    const NAME: &'static str = "store.export";
    const COMMAND: &'static str = "export";
    const SUMMARY: &'static str = "Export the whole store as lines of JSON";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(export);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The absolute path of the file to write, on the machine of the store. Only its owner can read it.
    pub file: String,
    /// Replace the file if it exists.
    #[serde(default)]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub file: String,
    pub moved: TransferSummary,
}

pub fn export(cx: &mut Context, _: &Session, request: &Request) -> Result<Answer> {
    let file = Path::new(&request.file);
    if std::path::absolute(cx.store_path()).is_ok_and(|store| store == file) {
        return Err(Error::new(ErrorCode::InvalidInput, "file is the store itself"));
    }
    let moved = cx.store.export_to(file, request.force)?;
    Ok(Answer { file: request.file.clone(), moved: moved.into() })
}

/// The same to a stream, for doors that print it.
pub fn to_stream(cx: &mut Context, out: &mut dyn Write) -> Result<TransferSummary> {
    Ok(cx.store.export(out)?.into())
}
