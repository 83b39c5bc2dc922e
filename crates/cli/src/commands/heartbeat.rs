//! `writ heartbeat`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::crew::token::LockToken;
use contract::domain::time::Timestamp;
use ops::heartbeat::{Request, Send};
use ops::{Error, Result};

use super::crew::{Which, required_token};
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  writ heartbeat --run RUN --task T-2 --token 7-…
  writ heartbeat --run RUN --task T-2")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// The token of the assignment [default: WRIT_ASSIGNMENT]
    #[arg(long)]
    token: Option<LockToken>,
    /// The worker's clock, in RFC 3339; a time far in the future is refused
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let at = args.at.as_deref().map(Timestamp::parse).transpose();
    let at = at.map_err(|error| Error::new(ErrorCode::Usage, format!("--at: {error}")))?;
    let task = args.which.reference(globals)?;
    let token = required_token(args.token, &task)?;
    let request = Request { run: args.which.run.clone(), task, token, at };
    host::answer::<Send>(globals, output, &request, |answer| {
        format!("heartbeat of {} at {}", answer.task_id, answer.last_heartbeat_at)
    })
}
