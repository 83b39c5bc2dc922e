//! Copies the store to a file while others use it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::report::Verification;
use crate::context::{Caller, Context};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Backup;

impl Verb for Backup {
    const NAME: &'static str = "store.backup";
    const COMMAND: &'static str = "backup";
    const SUMMARY: &'static str = "Copy the store to a file and verify the copy";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(back_up);
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
    pub bytes: u64,
    /// Of the copy's log.
    pub verification: Verification,
}

pub fn back_up(cx: &mut Context, _: &Caller, request: &Request) -> Result<Answer> {
    let copied = cx.store.back_up_to(Path::new(&request.file), request.force)?;
    Ok(Answer { file: request.file.clone(), bytes: copied.bytes, verification: copied.verification.into() })
}
