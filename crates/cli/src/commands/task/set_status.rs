//! `writ task set-status`

use std::process::ExitCode;

use ops::Result;
use ops::task::set_status::{Request, named, set_status};

use super::complete::check;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task
    #[arg(long)]
    id: String,
    /// pending, in_progress, completed or blocked
    #[arg(long)]
    status: String,
    /// Why it is blocked
    #[arg(long, value_name = "TEXT")]
    blocked_reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    // A word that names nothing is told before a task that is not there, as its contract does.
    named(&args.status)?;
    let mut cx = host::open(globals)?;
    // The agent contract's words for a task that is not there.
    ops::task::get::get(&mut cx, &args.id).map_err(super::get::failed)?;
    let request = Request {
        id: args.id.clone(),
        status: args.status.clone(),
        blocked_reason: args.blocked_reason.clone(),
        seen: if args.status == "completed" { check(&mut cx, &key, &args.id)? } else { Vec::new() },
    };
    let given = set_status(&mut cx, &key, &request)?;
    Ok(output.answer(&given.answer, || format!("{} is {}", given.answer.task.id, given.answer.task.status)))
}
