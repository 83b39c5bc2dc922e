//! `writ cancel`

use std::process::ExitCode;

use ops::Result;
use ops::run::cancel::{Answer, CancelRun, CancelTask, Request, names_task};
use ops::verb;

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
    let session = host::session_for::<CancelRun>(globals)?;
    let answer = if names_task(&mut cx, &session, &args.id)? {
        verb::call::<CancelTask>(&mut cx, &session, &request)?.answer
    } else {
        verb::call::<CancelRun>(&mut cx, &session, &request)?.answer
    };
    Ok(output.answer(&answer, || text(&answer)))
}
