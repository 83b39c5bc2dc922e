//! `ol init`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde_json::json;

use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ol init")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, output: &Output) -> Result<ExitCode> {
    let directory = host::absolute(".ol".into());
    let is_new = !directory.is_dir();
    for part in ["quests", "runs", "constraints"] {
        make(&directory.join(part))?;
    }
    let shown = directory.display().to_string();
    let data = json!({"schema_version": 1, "directory": shown, "created": is_new});
    let status = if is_new { "created" } else { "already there:" };
    Ok(output.answer(&data, || format!("{status} {shown}\n")))
}

fn make(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| {
        Error::new(ErrorCode::Io, format!("could not make {}: {error}", directory.display()))
    })
}
