//! `writ cancel`

use std::process::ExitCode;

use ops::Result;
use ops::run::cancel::{Request, cancel};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run or the task
    id: String,
    /// Why, for the record
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let id = if args.id.starts_with("task_") {
        ops::task::get::get(&mut cx, &args.id)?.id.to_string()
    } else {
        ops::run::show::show(&mut cx, &args.id)?.run.asked.id.to_string()
    };
    let key = host::any_key(globals)?;
    let given = cancel(&mut cx, &key, &Request { id, reason: args.reason.clone() })?;
    Ok(output.answer(&given.answer, || format!("{} is {}", given.answer.id, given.answer.state)))
}
