//! `writ task set-status`

use std::process::ExitCode;

use contract::continuity::state::TaskState;
use ops::task::set_status::{Request, SetStatus};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::word::Words;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task: its id, a unique prefix of it, its id in a plan, or its T-n
    #[arg(long)]
    id: String,
    /// The new state
    #[arg(long, value_parser = Words::of(TaskState::WORDS))]
    status: String,
    /// Why it is blocked
    #[arg(long, value_name = "TEXT")]
    blocked_reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.status.is_empty() {
        return Err(Error::required("status"));
    }
    // Report a missing agent before an invalid value, as the agent contract does.
    host::required_session(globals)?;
    let request = Request {
        id: args.id.clone(),
        status: TaskState::named(&args.status)?,
        blocked_reason: args.blocked_reason.clone(),
    };
    host::answer::<SetStatus>(globals, output, &request, |answer| {
        format!("{} is {}", answer.task.id, answer.task.status)
    })
}
