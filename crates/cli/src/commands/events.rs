//! `writ events list`

use std::process::ExitCode;

use contract::continuity::EventView;
use contract::domain::code::ErrorCode;
use ops::event::list::{List, Request, events};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output, one_line};
use crate::persona::{self, Persona};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List events, newest first
    #[command(
        after_help = "Examples:\n  writ events list --all --limit 20\n  writ events list --agent ann --kind task_closed --asc"
    )]
    List(EventListArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct EventListArgs {
    /// Events of all agents
    #[arg(long)]
    all: bool,
    /// Only events of this task
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// Only events of this kind
    #[arg(long)]
    kind: Option<String>,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
    /// Only events after this number
    #[arg(long, default_value_t = 0, value_name = "NUMBER", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..))]
    since_id: i64,
    /// Oldest first
    #[arg(long = "asc")]
    ascending: bool,
    /// Also archived events, which a summary replaced
    #[arg(long)]
    include_archived: bool,
}

pub(crate) fn run(Command::List(args): &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let agent = if args.all { None } else { host::agent_name(globals) };
    // A person without a name means everybody's; the agent contract wants that said.
    if agent.is_none() && !args.all && output.format != Format::Text {
        return Err(agent_is_required());
    }
    let request = Request {
        agent,
        task_id: args.task_id.clone(),
        kind: args.kind.clone(),
        corr: None,
        since_id: args.since_id,
        ascending: args.ascending,
        include_archived: args.include_archived,
        // What the original does not have is left out where its name is used.
        without_bookkeeping: persona::current() == Persona::Vybe,
        limit: usize::try_from(args.limit).ok(),
    };
    if output.format == Format::Ndjson {
        return envelopes(&request, globals, output);
    }
    host::answer::<List>(globals, output, &request, |answer| {
        let line = |e: &EventView| {
            let (kind, agent, message) = (one_line(&e.kind), one_line(&e.agent_name), one_line(&e.message));
            format!("{:>6}  {}  {kind:<20}  {agent:<12}  {message}\n", e.id, e.created_at)
        };
        answer.events.iter().map(line).collect()
    })
}

/// In the words of the agent contract.
fn agent_is_required() -> Error {
    let variable = persona::current().agent_variables()[0];
    let message = format!("agent is required unless --all is set (set --agent or {variable})");
    Error::new(ErrorCode::InvalidInput, message).hint("or list the events of every agent with --all")
}

/// The same events as AEE envelopes, one a line.
fn envelopes(request: &Request, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let events = events(&mut host::open(globals)?, request)?;
    let line = |event| serde_json::to_string(&ops::event::envelope(event)).ok().map(|line| line + "\n");
    Ok(output.text(&events.iter().filter_map(line).collect::<String>()))
}
