//! `writ assignment`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::money::MicroUsd;
use contract::domain::scope::Scope;
use contract::json::{Value, json};
use engine::disk::snapshot;
use ops::assignment::{issue, show, snapshot::keep};
use ops::context::Key;
use ops::{Context, Error, Result};

use super::crew::Which;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Give a task out, with its locks and its share of the budget
    Issue(IssueArgs),
    /// Show what a task was last given out with
    Show {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct IssueArgs {
    #[command(flatten)]
    which: Which,
    /// Who works on it [default: the caller]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// What it must not touch
    #[arg(long = "forbid", value_name = "PATH")]
    forbidden: Vec<String>,
    /// What it gets to know, such as `note=look at the tests`; kinds are file, note, command and constraint
    #[arg(long = "context", value_name = "KIND=VALUE")]
    context: Vec<String>,
    /// Where it writes down what it does [default: worklogs/TASK.jsonl]
    #[arg(long, value_name = "PATH")]
    worklog: Option<String>,
    /// How long it may be silent, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// How often it says that it lives, in seconds
    #[arg(long, value_name = "SECONDS")]
    heartbeat: Option<u64>,
    /// What it may spend, in dollars [default: what the plan says]
    #[arg(long, value_name = "USD")]
    cost: Option<f64>,
    /// What it may spend, in tokens [default: what the plan says]
    #[arg(long, value_name = "COUNT")]
    tokens: Option<i64>,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    match command {
        Command::Issue(args) => {
            let key = host::any_key(globals)?;
            let given = issue::issue(&mut cx, &key, &request(args)?)?;
            take_snapshot(&mut cx, &key, given.answer.token, &args.which.run)?;
            let answer = given.answer;
            Ok(output
                .answer(&answer, || format!("{} is given out with token {}", answer.task_id, answer.token)))
        }
        Command::Show { which } => {
            let shown = show::show(&mut cx, &which.run, &which.task)?;
            let data = json!({
                "token": shown.issued.token, "packet": shown.issued.packet, "ended": shown.issued.ended,
                "issued_at": shown.issued.issued_at, "snapshot": shown.issued.snapshot,
            });
            Ok(output.answer(&data, || {
                let state = shown.issued.ended.as_deref().unwrap_or("open");
                format!("token {}, {state}, issued {}", shown.issued.token, shown.issued.issued_at)
            }))
        }
    }
}

fn request(args: &IssueArgs) -> Result<issue::Request> {
    let context = args.context.iter().map(|text| match text.split_once('=') {
        Some((kind, value)) => Ok(json!({"kind": kind, "value": value})),
        None => Err(Error::new(ErrorCode::Usage, format!("--context wants KIND=VALUE, not `{text}`"))),
    });
    Ok(issue::Request {
        run: args.which.run.clone(),
        task: args.which.task.clone(),
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

/// Dollars as a person writes them.
pub(crate) fn dollars(amount: f64) -> Result<MicroUsd> {
    MicroUsd::from_dollars(amount)
        .ok_or_else(|| Error::new(ErrorCode::Usage, format!("{amount} is no amount of dollars")))
}

/// Writes down what the scope holds, now that nobody else may change it and before the worker hears of it. A call
/// that was interrupted in between is finished by its repetition.
pub(crate) fn take_snapshot(cx: &mut Context, key: &Key, token: i64, run: &str) -> Result<()> {
    let locks =
        ops::lock::list::list(cx, &ops::lock::list::Request { run: Some(run.to_owned()), history: false })?;
    let own: Vec<_> = locks.into_iter().filter(|lock| lock.held.token == token).collect();
    let Some(first) = own.first() else { return Ok(()) };
    let root = first.held.workspace.clone();
    let scopes: Vec<Scope> = own.iter().map(|lock| lock.held.scope.clone()).collect();
    keep(cx, &key.caller, token, &snapshot(Path::new(&root), &scopes))
}
