//! `writ resume`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::time::Timestamp;
use ops::resume::{Request, Resume, peek};
use ops::{Error, Result};

use crate::app::Globals;
use crate::output::Output;
use crate::{host, inside, project};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ resume --agent ann --request-id r1 --project-dir .\n  writ resume --agent ann --peek"
)]
pub(crate) struct Args {
    /// Return at most this many events, 1 to 1000
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true)]
    limit: i64,
    /// The project's directory [default: the project of this directory, else the one the agent was in]
    #[arg(long, value_name = "DIR")]
    project_dir: Option<String>,
    /// Show the state without claiming a task or moving the cursor
    #[arg(long)]
    peek: bool,
    /// Work on this task instead of the one that would be chosen
    #[arg(long, value_name = "ID")]
    focus: Option<String>,
    /// Token budget of the brief, and of the prompt
    #[arg(long, default_value_t = 1500, value_name = "TOKENS", allow_negative_numbers = true)]
    budget: i64,
    /// With --peek: also a short prompt, as subagents get
    #[arg(long, requires = "peek")]
    short: bool,
    /// With --peek: leave out everything written after this time
    #[arg(long, value_name = "TIME", requires = "peek")]
    as_of: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let project_dir = project::named_or_here(args.project_dir.as_deref());
    let (limit, focus, budget) = (Some(args.limit), args.focus.clone(), Some(args.budget));
    if !args.peek {
        let request = Request { project_dir, limit, focus, budget, only_task: None };
        return host::answer::<Resume>(globals, output, &request, |answer| answer.prompt.clone());
    }
    let agent = host::agent_or_user(globals)?;
    let as_of = args.as_of.as_deref().map(Timestamp::parse).transpose();
    let as_of = as_of.map_err(|error| Error::new(ErrorCode::InvalidInput, format!("--as-of: {error}")))?;
    let is_inside = inside::socket(globals).is_some();
    let short = args.short || is_inside;
    let request = peek::Request { agent, project_dir, limit, focus, budget, as_of, short, only_task: None };
    if is_inside {
        return host::answer::<peek::Peek>(globals, output, &request, |answer| {
            answer.prompt.clone().unwrap_or_default()
        });
    }
    let (answer, peek::Aside { prompt, .. }) =
        peek::look(&mut host::open(globals)?, &host::reader(globals), &request)?;
    Ok(output.answer(&answer, || answer.prompt.clone().unwrap_or(prompt)))
}
