//! `writ upgrade`: migrates the store to this program's schema. Package managers upgrade the program.

use std::process::ExitCode;

use ops::Result;
use ops::transfer::upgrade::{Request, Upgrade};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ upgrade")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    host::answer::<Upgrade>(globals, output, &Request {}, |answer| {
        let schema = answer.schema;
        match answer.schema_before {
            before if before == schema => format!("the store has schema {schema}; nothing to do\n"),
            0 => format!("made a new store with schema {schema}\n"),
            before => format!("migrated the store from schema {before} to {schema}; a backup is beside it\n"),
        }
    })
}
