//! `writ task complete`

use std::process::ExitCode;

use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use ops::task::complete::{Complete, Request};
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
    /// How it ended
    #[arg(long, value_parser = Words::of(CloseOutcome::WORDS))]
    outcome: String,
    /// What was done, or what is in the way
    #[arg(long)]
    summary: String,
    /// A label for the closing event
    #[arg(long)]
    label: Option<String>,
    /// Why it is blocked [default: the summary]
    #[arg(long, value_name = "TEXT")]
    blocked_reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.outcome.is_empty() {
        return Err(Error::field(ErrorCode::InvalidInput, "outcome", "is required (done|blocked)"));
    }
    // Report a missing agent before an invalid value, as the agent contract does.
    host::required_session(globals)?;
    let request = Request {
        id: args.id.clone(),
        outcome: CloseOutcome::named(&args.outcome)?,
        summary: args.summary.clone(),
        label: args.label.clone(),
        blocked_reason: args.blocked_reason.clone(),
    };
    host::answer::<Complete>(globals, output, &request, |answer| {
        format!("{} is {}", answer.task.id, answer.task.status)
    })
}
