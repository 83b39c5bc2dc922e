//! `writ task delete`

use std::process::ExitCode;

use ops::Result;
use ops::task::delete::{Delete, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task: its id, a unique prefix of it, its id in a plan, or its T-n
    #[arg(long)]
    id: String,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone() };
    host::answer::<Delete>(globals, output, &request, |answer| format!("deleted {}", answer.task_id))
}
