//! `writ task set-priority`

use std::process::ExitCode;

use ops::Result;
use ops::task::set_priority::{Request, SetPriority};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task: its id, a unique prefix of it, its id in a plan, or its T-n
    #[arg(long)]
    id: String,
    /// Higher goes first
    #[arg(long, allow_negative_numbers = true)]
    priority: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone(), priority: args.priority };
    host::answer::<SetPriority>(globals, output, &request, |answer| {
        format!("{} has priority {}", answer.task.id, answer.task.priority)
    })
}
