//! `writ cancel`

use std::process::ExitCode;

use ops::Result;
use ops::run::cancel::{Answer, CancelRun, CancelTask, Request, names_task};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ cancel run_3f56\n  writ cancel docs\n  writ cancel task_01k2 --reason \"not needed\""
)]
pub(crate) struct Args {
    /// The run or the task: an id, a unique prefix of it, @last, a task's id in a plan, or its T-n
    id: String,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone(), reason: args.reason.clone() };
    let text = |answer: &Answer| format!("{} is {}", answer.id, answer.state);
    let mut cx = host::open(globals)?;
    let answer = if names_task(&mut cx, &args.id)? {
        host::call_on::<CancelTask>(&mut cx, globals, &request)?
    } else {
        host::call_on::<CancelRun>(&mut cx, globals, &request)?
    };
    Ok(output.answer(&answer, || text(&answer)))
}
