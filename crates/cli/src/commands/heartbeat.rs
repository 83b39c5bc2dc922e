//! `writ heartbeat`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::time::Timestamp;
use ops::heartbeat::{Request, Send};
use ops::{Error, Result};

use super::crew::{CrewSelector, required_token};
use crate::app::Globals;
use crate::output::Output;
use crate::{env, host, inside};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  writ heartbeat --run RUN --task T-2 --token TOKEN
  writ heartbeat --run $WRIT_RUN --task $WRIT_TASK
  writ heartbeat")]
pub(crate) struct Args {
    /// The run: its UUID, or its id [default in a sandbox: WRIT_RUN]
    #[arg(long)]
    run: Option<String>,
    /// The task: its T-n, its id in the plan, or its id [default in a sandbox: WRIT_TASK]
    #[arg(long)]
    task: Option<String>,
    /// The token of the assignment [default: WRIT_ASSIGNMENT]
    #[arg(id = "given_token", long = "token", value_name = "TOKEN")]
    token: Option<String>,
    /// The worker's clock, in RFC 3339; a time far in the future is refused
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let at = args.at.as_deref().map(Timestamp::parse).transpose();
    let at = at.map_err(|error| Error::new(ErrorCode::Usage, format!("--at: {error}")))?;
    let missing = |flag: &str| Error::new(ErrorCode::Usage, format!("{flag} is required"));
    let own = inside::own_task(globals);
    let own_run = own.as_ref().and_then(|_| env::get("WRIT_RUN"));
    let run = args.run.clone().or(own_run).ok_or_else(|| missing("--run"))?;
    let task = args.task.clone().or(own).ok_or_else(|| missing("--task"))?;
    let which = CrewSelector { run, task };
    // The program that an engine runs for the task is known without a token.
    let is_own = args.token.is_none() && env::get("WRIT_TASK").is_some_and(|task| task == which.task);
    let task = if is_own && inside::socket(globals).is_some() {
        which.task.clone()
    } else {
        which.reference(globals)?
    };
    let token = if is_own { None } else { Some(required_token(args.token.as_deref(), &task)?) };
    let request = Request { run: which.run, task, token, at };
    host::answer::<Send>(globals, output, &request, |answer| {
        format!("heartbeat of {} at {}", answer.task_id, answer.last_heartbeat_at)
    })
}
