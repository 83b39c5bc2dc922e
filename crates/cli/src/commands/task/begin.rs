//! `writ task begin`

use std::process::ExitCode;

use ops::Result;
use ops::task::begin::{Request, begin};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task
    #[arg(long)]
    id: String,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let given = begin(&mut host::open(globals)?, &key, &Request { id: args.id.clone() })?;
    Ok(output.answer(&given.answer, || format!("began {}", given.answer.task.id)))
}
