//! `writ worker run`: takes assignments of a crew's ledger, runs a command for each, and submits the results.

mod child;
mod files;
mod prepare;
mod report;
mod turn;
mod wait;
mod written;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use contract::domain::request::RequestId;
use contract::operator::Outcome;
use engine::StopSignal;
use engine::sandbox::CommandSandboxes;
use ops::verb::Surface;
use ops::{Caller, Context, Error, Result, Session};
use serde_json::json;

use crate::app::Globals;
use crate::confined::{self, SandboxFlags};
use crate::host;
use crate::local::LocalCommand;
use crate::output::{Format, Output, one_line, say};
use report::{End, Report};

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

/// Everything that stays the same from task to task.
struct Worker<'w> {
    args: &'w RunArgs,
    caller: Caller,
    /// Where the calls come from.
    session: Session,
    run: String,
    /// The only task that it takes, as operator documents name it.
    task: Option<String>,
    workspace: PathBuf,
    store: PathBuf,
    stop: StopSignal,
    /// What the request ids of this worker begin with.
    name: String,
    /// `None` where commands are not confined.
    sandboxes: Option<CommandSandboxes>,
}

impl Worker<'_> {
    fn key(&self, number: u32, step: &str) -> Result<Session> {
        let request_id = RequestId::parse(&format!("{}_{number}_{step}", self.name))
            .map_err(|error| Error::new(ErrorCode::Bug, error.to_string()))?;
        Ok(Session { caller: self.caller.clone(), ..self.session.under(request_id) })
    }

    fn repeats(&self) -> bool {
        self.args.again || self.args.max.is_some()
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Run(args) = command;
    let mut cx = host::open_existing(globals)?;
    let mut worker = prepare::prepared(args, globals, &mut cx)?;
    let flags = SandboxFlags { what: "writ worker run", git: GitUse::Read, namespace: args.namespace };
    worker.sandboxes = confined::configured(globals, &worker.workspace, &flags)?;
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    engine::supervisor::become_subreaper().ok();
    ops::epoch::program::enter(&mut cx, &worker.caller, "worker run")?;
    let report = work(&worker, &mut cx);
    // A row that stays is removed by the next program.
    ops::epoch::program::leave(&mut cx, &worker.caller).ok();
    let report = report?;
    if let Some(signal) = worker.stop.raised() {
        let message = format!("interrupted by signal {signal}");
        return Err(Error::new(ErrorCode::Interrupted, message).details(json!(report)));
    }
    let printed = match output.format {
        Format::Text => output.text(&report.text()),
        Format::Json | Format::Ndjson => output.envelope(report.is_done(), &report),
    };
    Ok(if report.is_done() { printed } else { ExitCode::FAILURE })
}

/// One task, or one after another.
fn work(worker: &Worker<'_>, cx: &mut Context) -> Result<Report> {
    let mut report = Report::new(&worker.run, worker.caller.agent.as_str());
    let most =
        if worker.args.again { worker.args.max.unwrap_or(u32::MAX) } else { worker.args.max.unwrap_or(1) };
    for number in 1..=most {
        let Some(turn) = wait::take(worker, cx, number)? else {
            report.end = if worker.stop.raised().is_some() { End::Interrupted } else { End::NothingReady };
            return Ok(report);
        };
        say(&format!(
            "{}  taken with token {}  {}\n",
            turn.task_id,
            turn.token.number,
            one_line(&turn.title)
        ));
        let worked = turn::work(worker, cx, &turn)?;
        say(&format!("{}  {}  {}\n", worked.task_id, worked.status, one_line(&worked.reason)));
        report.tasks.push(worked);
        if worker.stop.raised().is_some() {
            report.end = End::Interrupted;
            return Ok(report);
        }
    }
    Ok(report)
}
