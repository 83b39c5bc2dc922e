//! `writ assignment`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::money::MicroUsd;
use contract::json::{Value, json};
use ops::assignment::{issue, show};
use ops::{Error, Result};

use super::crew::{CrewSelector, reference};
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Assign a task to a worker, with its locks and its budget
    Issue(IssueArgs),
    /// Show the last assignment of a task
    #[command(after_help = "Examples:
  writ assignment show --run RUN --task T-2")]
    Show {
        #[command(flatten)]
        which: CrewSelector,
    },
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  writ assignment issue --run RUN --task T-2 --owner anna
  writ assignment issue --run RUN --owner anna
  writ assignment issue --run RUN --task T-2 --forbid docs --context \"note=read the tests first\" --timeout 600")]
pub(crate) struct IssueArgs {
    /// The run: its UUID, or its id
    #[arg(long)]
    run: String,
    /// The task, such as T-12 [default: the next one that is ready]
    #[arg(long)]
    task: Option<String>,
    /// The worker [default: the caller]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// A file or directory that the worker must not change; may be repeated
    #[arg(long = "forbid", value_name = "PATH")]
    forbidden: Vec<String>,
    /// What the worker is told; kinds are file, note, command and constraint; may be repeated
    #[arg(long = "context", value_name = "KIND=VALUE")]
    context: Vec<String>,
    /// The worker's log [default: worklogs/TASK.jsonl, and worklogs/RUN/TASK.jsonl from the second run on]
    #[arg(long, value_name = "PATH")]
    worklog: Option<String>,
    /// How long the worker may go without a heartbeat, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// The interval between heartbeats, in seconds
    #[arg(long, value_name = "SECONDS")]
    heartbeat: Option<u64>,
    /// The worker's budget in dollars [default: from the plan]
    #[arg(long, value_name = "USD")]
    cost: Option<f64>,
    /// The worker's budget in tokens [default: from the plan]
    #[arg(long, value_name = "COUNT")]
    tokens: Option<i64>,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Issue(args) => {
            host::answer::<issue::Issue>(globals, output, &request(args, globals)?, |answer| {
                format!("{} assigned with token {}", answer.task_id, answer.token)
            })
        }
        Command::Show { which } => {
            let request = show::Request { run: which.run.clone(), task: which.reference(globals)? };
            host::answer::<show::Show>(globals, output, &request, |answer| {
                let state = answer.ended.as_deref().unwrap_or("open");
                format!("token {}, {state}, issued {}", answer.token, answer.issued_at)
            })
        }
    }
}

fn request(args: &IssueArgs, globals: &Globals) -> Result<issue::Request> {
    let context = args.context.iter().map(|text| match text.split_once('=') {
        Some((kind, value)) => Ok(json!({"kind": kind, "value": value})),
        None => Err(Error::new(ErrorCode::Usage, format!("--context must be KIND=VALUE, not `{text}`"))),
    });
    Ok(issue::Request {
        run: args.run.clone(),
        task: args.task.as_deref().map(|task| reference(globals, &args.run, task)).transpose()?,
        owner: args.owner.clone(),
        forbidden_scope: args.forbidden.clone(),
        context_package: context.collect::<Result<Vec<Value>>>()?,
        worklog_path: args.worklog.clone(),
        timeout_seconds: args.timeout,
        heartbeat_interval_seconds: args.heartbeat,
        cost: args.cost.map(dollars).transpose()?,
        tokens: args.tokens,
    })
}

/// An amount in dollars on the command line.
pub(crate) fn dollars(amount: f64) -> Result<MicroUsd> {
    MicroUsd::from_dollars(amount)
        .ok_or_else(|| Error::new(ErrorCode::Usage, format!("invalid amount in dollars: {amount}")))
}
