//! The whole store in one piece: a copy while others use it, an export as lines of JSON, an import into an empty one.

use std::io::{BufRead, Write};
use std::path::Path;

use store::{Backup, TransferSummary};

use crate::context::Context;
use crate::error::Result;

/// Copies the store to a new file and reads the copy back.
pub fn back_up(cx: &Context, target: &Path, overwrite: bool) -> Result<Backup> {
    Ok(cx.store.back_up_to(target, overwrite)?)
}

/// Writes every row of every table.
pub fn export(cx: &mut Context, out: &mut dyn Write) -> Result<TransferSummary> {
    Ok(cx.store.export(out)?)
}

/// The same into a new file.
pub fn export_to(cx: &mut Context, target: &Path, overwrite: bool) -> Result<TransferSummary> {
    Ok(cx.store.export_to(target, overwrite)?)
}

/// Fills an empty store. All of it or nothing.
pub fn import(cx: &mut Context, input: &mut dyn BufRead) -> Result<TransferSummary> {
    Ok(cx.store.import(input)?)
}
