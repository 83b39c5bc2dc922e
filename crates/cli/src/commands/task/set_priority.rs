//! `writ task set-priority`

use std::process::ExitCode;

use ops::Result;
use ops::task::set_priority::{Request, set_priority};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task
    #[arg(long)]
    id: String,
    /// Higher goes first
    #[arg(long, allow_negative_numbers = true)]
    priority: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let request = Request { id: args.id.clone(), priority: args.priority };
    let given = set_priority(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || {
        format!("{} has priority {}", given.answer.task.id, given.answer.task.priority)
    }))
}
