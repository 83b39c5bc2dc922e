//! Fills an empty store with an export. All of it or nothing.

use std::io::BufRead;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TransferSummary;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Import;

impl Verb for Import {
    const NAME: &'static str = "store.import";
    const COMMAND: &'static str = "import";
    const SUMMARY: &'static str = "Import an export into an empty store";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(import);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The absolute path of the export, on the machine of the store.
    pub file: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub moved: TransferSummary,
}

/// Repeating it does no harm: a store that is not empty is refused.
pub fn import(cx: &mut Context, _: &Session, request: &Request) -> Result<Answer> {
    Ok(Answer { moved: cx.store.import_from(Path::new(&request.file))?.into() })
}

/// The same from a stream, for doors that read it.
pub fn from_stream(cx: &mut Context, input: &mut dyn BufRead) -> Result<Answer> {
    Ok(Answer { moved: cx.store.import(input)?.into() })
}
