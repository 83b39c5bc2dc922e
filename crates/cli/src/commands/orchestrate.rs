//! `writ orchestrate`

use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use ops::orchestrate::OrchestratorProgram;
use ops::orchestrate::step::{Answer, Request, Step};
use ops::{Error, Result};

use super::ledger::ApplyArgs;
use crate::app::Globals;
use crate::output::{Output, one_line};
use crate::{confined, host};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run one step of an orchestrator: apply its deltas and issue its assignments
    Step(StepArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  writ orchestrate step output.json
  writ orchestrate step --run RUN --command \"python3 orchestrator.py\" --timeout 2m")]
pub(crate) struct StepArgs {
    #[command(flatten)]
    document: ApplyArgs,
    /// Run this program with its arguments, and use what it prints instead of a file
    #[arg(long, value_name = "COMMAND", conflicts_with = "file")]
    command: Option<String>,
    /// The run whose ledger the program reads on standard input
    #[arg(long, requires = "command")]
    run: Option<String>,
    /// The program's deadline
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = host::length, requires = "command")]
    timeout: Duration,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Step(args) = command;
    let (document, program) = match &args.command {
        None => (Some(args.document.read()?), None),
        Some(command) => {
            confined::without_sandbox("writ orchestrate step")?;
            (None, Some(program(command, args)?))
        }
    };
    let request = Request {
        document,
        program,
        objective: args.document.objective(),
        workspace: Some(args.document.workspace()),
        strict: args.document.is_strict(),
    };
    host::answer::<Step>(globals, output, &request, text)
}

fn program(command: &str, args: &StepArgs) -> Result<OrchestratorProgram> {
    let argv = shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("--command must name a program, not `{command}`"))
    })?;
    let timeout_ms = u64::try_from(args.timeout.as_millis()).unwrap_or(u64::MAX);
    Ok(OrchestratorProgram { argv, run: args.run.clone(), timeout_ms: Some(timeout_ms) })
}

fn text(answer: &Answer) -> String {
    let mut text = format!("run {} is at version {}\n", answer.run_id, answer.version);
    for assignment in &answer.assignments {
        text.push_str(&format!("{} assigned with token {}\n", assignment.task_id, assignment.token));
    }
    text.extend(super::ledger::lock_differences(&answer.lock_differences));
    for action in &answer.next_actions {
        text.push_str(&format!("next: {}\n", one_line(action)));
    }
    text
}
