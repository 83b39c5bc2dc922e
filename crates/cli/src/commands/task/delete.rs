//! `writ task delete`

use std::process::ExitCode;

use ops::Result;
use ops::task::delete::{Request, delete};

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
    let given = delete(&mut host::open(globals)?, &key, &Request { id: args.id.clone() })?;
    Ok(output.answer(&given.answer, || format!("deleted {}", given.answer.task_id)))
}
