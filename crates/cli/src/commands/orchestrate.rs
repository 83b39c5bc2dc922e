//! `writ orchestrate`

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::json::Value;
use engine::launcher::{RunError, ask};
use engine::supervisor::{Exit, Stdin};
use ops::orchestrate::{refuse_other_run, step};
use ops::{Context, Error, Result};
use serde_json::json;

use super::assignment::take_snapshot;
use super::crew::parse_document;
use super::ledger::ApplyArgs;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Take one round of an orchestrator: apply its deltas, reconcile, give out its assignments, or nothing
    Step(StepArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct StepArgs {
    #[command(flatten)]
    document: ApplyArgs,
    /// Ask this program and its arguments for the output, instead of reading a file
    #[arg(long, value_name = "COMMAND", conflicts_with = "file")]
    command: Option<String>,
    /// The run whose ledger the program reads on standard input
    #[arg(long, requires = "command")]
    run: Option<String>,
    /// How long the program may take
    #[arg(long, value_name = "LENGTH", default_value = "10m", value_parser = host::length, requires = "command")]
    timeout: Duration,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Step(args) = command;
    let key = host::any_key(globals)?;
    let (request, mut cx) = match &args.command {
        None => (args.document.request()?, host::open(globals)?),
        Some(command) => {
            let mut cx = host::open(globals)?;
            let said = said_by(command, args, &mut cx)?;
            (args.document.request_for(said), cx)
        }
    };
    let given = step(&mut cx, &key, &request)?;
    let answer = &given.answer;
    for assignment in &answer.assignments {
        take_snapshot(&mut cx, &key, assignment.token, &answer.run_id)?;
    }
    Ok(output.answer(answer, || {
        let mut text = format!("run {} is at version {}\n", answer.run_id, answer.version);
        for assignment in &answer.assignments {
            text.push_str(&format!("{} is given out with token {}\n", assignment.task_id, assignment.token));
        }
        for action in &answer.next_actions {
            text.push_str(&format!("next: {}\n", one_line(action)));
        }
        text
    }))
}

/// What an orchestrator says that is a program: it reads the ledger, prints its output, and is gone with everything it
/// started when this returns.
fn said_by(command: &str, args: &StepArgs, cx: &mut Context) -> Result<Value> {
    let words = shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("--command `{command}` names no program"))
    })?;
    let ledger = args.run.as_deref().map(|run| ops::ledger::show::show(cx, run)).transpose()?;
    let mut spec = host::program(words.into_iter().map(OsString::from).collect());
    spec.stdin =
        ledger.map_or(Stdin::Closed, |shown| Stdin::Bytes(format!("{}\n", json!(shown)).into_bytes()));
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    engine::supervisor::become_subreaper().ok();
    let answered = ask(&host::shim(), spec, args.timeout).map_err(|error| {
        let code = if matches!(error, RunError::Timeout(_)) { ErrorCode::Timeout } else { ErrorCode::Io };
        Error::new(code, format!("the orchestrator `{command}` {error}"))
            .hint("run it by hand; what it prints on standard output has to be one JSON object")
    })?;
    refuse_failed(command, answered.exit)?;
    let said = parse_document(&answered.printed)?;
    if let Some(run) = &args.run {
        refuse_other_run(cx, run, &said)?;
    }
    Ok(said)
}

/// A program that failed may have printed half of what it meant, so nothing of it counts.
fn refuse_failed(command: &str, exit: Exit) -> Result<()> {
    let end = match exit {
        Exit::Code(0) => return Ok(()),
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
    };
    Err(Error::new(
        ErrorCode::Io,
        format!("the orchestrator `{command}` {end}; what it printed is not applied"),
    )
    .hint("run it by hand; one that answers prints one JSON object and exits with 0"))
}
