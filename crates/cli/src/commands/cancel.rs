//! `writ cancel`

use std::process::ExitCode;

use ops::Result;
use ops::run::cancel::{Answer, CancelRun, CancelTask, Request, names_task};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ cancel run_3f56\n  writ cancel task_01k2 --reason \"not needed\"")]
pub(crate) struct Args {
    /// The id of the run or the task, or a unique prefix of it
    id: String,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone(), reason: args.reason.clone() };
    let text = |answer: &Answer| format!("{} is {}", answer.id, answer.state);
    if names_task(&args.id) {
        host::answer::<CancelTask>(globals, output, &request, text)
    } else {
        host::answer::<CancelRun>(globals, output, &request, text)
    }
}
