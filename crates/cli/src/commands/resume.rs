//! `writ resume`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::request::Agent;
use contract::domain::time::Timestamp;
use ops::resume::{Request, peek, resume};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Events to hand over at most, 1 to 1000
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true)]
    limit: i64,
    /// The workspace, which is the project [default: the one the agent was in]
    #[arg(long, value_name = "DIR")]
    project_dir: Option<String>,
    /// Only look: no claim, no cursor, no request id
    #[arg(long)]
    peek: bool,
    /// Look at this task instead of the one that would be chosen
    #[arg(long, value_name = "ID")]
    focus: Option<String>,
    /// Tokens for the brief, and as many for the prompt
    #[arg(long, default_value_t = 1500, value_name = "TOKENS", allow_negative_numbers = true)]
    budget: i64,
    /// With --peek: without what was written after this time
    #[arg(long, value_name = "TIME", requires = "peek")]
    as_of: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request {
        project_dir: args.project_dir.as_deref().map(host::workspace),
        limit: Some(args.limit),
        focus: args.focus.clone(),
        budget: Some(args.budget),
        program: Some(host::callable(globals)),
    };
    if args.peek {
        return look(args, &request, globals, output);
    }
    let key = host::required_key(globals)?;
    let given = resume(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || given.answer.prompt.clone()))
}

fn look(args: &Args, request: &Request, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let invalid = |error: String| Error::new(ErrorCode::InvalidInput, error);
    let agent = host::agent_name(globals).ok_or_else(host::agent_is_required)?;
    let agent = Agent::parse(&agent).map_err(|error| invalid(error.to_string()))?;
    let as_of = args.as_of.as_deref().map(Timestamp::parse).transpose();
    let as_of = as_of.map_err(|error| invalid(format!("--as-of: {error}")))?;
    let seen = peek(&mut host::open(globals)?, &agent, request, as_of)?;
    Ok(output.answer(&seen, || serde_json::to_string_pretty(&seen.brief).unwrap_or_default()))
}
