//! Copies the store to a file while others use it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::BackupOptions;

use crate::audit::report::LogVerification;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Backup;

impl Verb for Backup {
    const NAME: &'static str = "store.backup";
    const COMMAND: &'static str = "backup";
    const SUMMARY: &'static str = "Copy the store to a file and verify the copy";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
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
    /// Leave out the store's key, without which the seal of the copy cannot be checked and nothing can be written to it.
    #[serde(default)]
    pub without_key: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub file: String,
    pub bytes: u64,
    /// Of the copy.
    pub verification: LogVerification,
    /// The copy of the store's key, if it was not left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

pub fn back_up(cx: &mut Context, _: &Session, request: &Request) -> Result<Answer> {
    let options = BackupOptions { overwrite: request.force, without_key: request.without_key };
    let copied = cx.store.back_up_to(Path::new(&request.file), options)?;
    Ok(Answer {
        file: request.file.clone(),
        bytes: copied.bytes,
        verification: copied.verification.into(),
        key: copied.key.map(|path| path.to_string_lossy().into_owned()),
    })
}
