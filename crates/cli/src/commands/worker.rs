//! `writ worker run`: takes assignments of a crew's ledger, runs a command for each, and submits the results.

mod prepare;
mod text;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use contract::operator::Outcome;
use engine::worker::{self, WorkerEvent};
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::confined::{self, SandboxFlags};
use crate::host;
use crate::local::LocalCommand;
use crate::output::{Format, Output, one_line, say};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("worker run", Surface::Crew)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Take an assignment, run a command with its packet, and submit the result
    ///
    /// The command runs in the run's workspace. It reads the assignment packet on standard input and in the file
    /// WRIT_PACKET; WRIT_RUN_ID, WRIT_TASK_ID and WRIT_ASSIGNMENT (the token) name the assignment, and the file WRIT_RESULT
    /// may take fields of the result. Heartbeats are sent while it runs. If it exits with 0 and the task's checks pass,
    /// the task is done; otherwise it is blocked, with a code and the next step in its worklog. With `[sandbox] mode` in the
    /// configuration the command is confined to the task's lock scope, with a HOME of its own.
    Run(RunArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 if every task that was taken is done, 1 if not.

Examples:
  writ worker run --run RUN --owner w1 -- ./do-task.sh
  writ worker run --run RUN --owner w1 --task T-3 -- make test
  writ worker run --run RUN --owner w1 --loop --wait 5m -- ./do-task.sh")]
pub(crate) struct RunArgs {
    /// The run: its UUID, its id, a unique prefix of it, or @last, the newest run of the project
    #[arg(long)]
    run: String,
    /// The worker's name [default: the agent]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// The task: its T-n, its id in the plan, or its id [default: the next one that is ready]
    #[arg(long, conflicts_with_all = ["again", "max"])]
    task: Option<String>,
    /// Take one task after another until none is ready
    #[arg(long = "loop")]
    again: bool,
    /// Take at most this many tasks, one after another
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    max: Option<u32>,
    /// With --loop or --max: how long to wait for a task while others are in progress
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = host::length)]
    wait: Duration,
    /// Stop the command after this time [default: no limit but the longest that a task may take]
    #[arg(long, value_name = "DURATION", value_parser = host::length)]
    timeout: Option<Duration>,
    /// What a task is that could not be finished: blocked can be planned again, failed is final
    #[arg(long, value_name = "blocked|failed", default_value = "blocked", value_parser = unfinished)]
    on_failure: Outcome,
    /// Whether processes live in a pid namespace of their own; off for sudo and containers
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = host::namespace)]
    namespace: Namespace,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn unfinished(text: &str) -> std::result::Result<Outcome, String> {
    match Outcome::parse(text) {
        Some(outcome @ (Outcome::Blocked | Outcome::Failed)) => Ok(outcome),
        Some(Outcome::Done) | None => Err("must be blocked or failed".to_owned()),
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Run(args) = command;
    let mut cx = host::open_existing(globals)?;
    let mut settings = prepare::prepared(args, globals, &mut cx)?;
    let flags = SandboxFlags { what: "writ worker run", git: GitUse::Read, namespace: args.namespace };
    settings.programs.sandboxes = confined::configured(globals, &settings.workspace, &flags)?;
    settings.programs.logs = host::made_logs_directory(globals)?;
    let report = worker::run(&settings, &mut cx, &mut print)?;
    if let Some(signal) = settings.programs.stop.raised() {
        let message = format!("interrupted by signal {signal}");
        return Err(Error::new(ErrorCode::Interrupted, message).details(json!(report)));
    }
    let printed = match output.format {
        Format::Text => output.text(&text::report(&report)),
        Format::Json | Format::Ndjson => output.envelope(report.is_done(), &report),
    };
    Ok(if report.is_done() { printed } else { ExitCode::FAILURE })
}

/// Standard output has nothing but the answer.
fn print(event: WorkerEvent<'_>) {
    match event {
        WorkerEvent::Taken { task_id, token, title } => {
            say(&format!("{task_id}  taken with token {token}  {}\n", one_line(title)));
        }
        // A closed standard error cannot be reported anywhere.
        WorkerEvent::Output(bytes) => drop(std::io::stderr().write_all(bytes)),
        WorkerEvent::Notice(line) => say(&format!("{line}\n")),
        WorkerEvent::Worked(task) => {
            say(&format!("{}  {}  {}\n", task.task_id, task.status, one_line(&task.reason)));
        }
    }
}
