//! `writ upgrade`: brings the store to this program's schema. Programs are upgraded by whoever installed them.

use std::process::ExitCode;

use ops::Result;
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ upgrade")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let cx = host::open(globals)?;
    let (before, schema) = cx.schemas();
    let data = json!({
        "source": "local",
        "method": "migrate",
        "version": env!("CARGO_PKG_VERSION"),
        "path": cx.store_path().display().to_string(),
        "schema_before": before,
        "schema": schema,
        "migrated": true,
        "changed": before != schema,
    });
    Ok(output.answer(&data, || match before {
        before if before == schema => format!("the store has schema {schema}; there was nothing to do\n"),
        0 => format!("a new store was made with schema {schema}\n"),
        before => format!("the store was brought from schema {before} to {schema}; a backup is beside it\n"),
    }))
}
