//! `writ events list`

use std::process::ExitCode;

use ops::Result;
use ops::event::{Request, list, view};
use serde_json::{Value, json};

use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List events, newest first
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Of every agent
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
    #[arg(long, default_value_t = 0, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..))]
    since_id: i64,
    /// Oldest first
    #[arg(long)]
    asc: bool,
    /// Also archived events, which a summary stands for
    #[arg(long)]
    include_archived: bool,
}

pub(crate) fn run(Command::List(args): &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let agent = if args.all { None } else { host::agent_name(globals) };
    if agent.is_none() && !args.all && output.format != Format::Text {
        return Err(host::agent_is_required().hint("or list the events of every agent with --all"));
    }
    let request = Request {
        agent: agent.clone(),
        task_id: args.task_id.clone(),
        kind: args.kind.clone(),
        since_id: args.since_id,
        ascending: args.asc,
        include_archived: args.include_archived,
        limit: usize::try_from(args.limit).ok(),
        ..Request::default()
    };
    let events = list(&mut host::open(globals)?, &request)?;
    let views: Vec<_> = events.iter().map(view).collect();
    if output.format == Format::Ndjson {
        let lines: String = events
            .iter()
            .filter_map(|event| serde_json::to_string(&ops::event::envelope(event)).ok())
            .map(|line| line + "\n")
            .collect();
        return Ok(output.text(&lines));
    }
    let mut data = json!({"count": views.len(), "events": views});
    let named = [("agent", agent), ("task_id", args.task_id.clone()), ("kind", args.kind.clone())];
    for (name, value) in named {
        if let Some(value) = value {
            data[name] = json!(value);
        }
    }
    if args.since_id > 0 {
        data["since_id"] = Value::from(args.since_id);
    }
    Ok(output.answer(&data, || {
        let line = |e: &contract::continuity::EventView| {
            let (kind, agent, message) = (one_line(&e.kind), one_line(&e.agent_name), one_line(&e.message));
            format!("{:>6}  {}  {kind:<20}  {agent:<12}  {message}\n", e.id, e.created_at)
        };
        views.iter().map(line).collect()
    }))
}
