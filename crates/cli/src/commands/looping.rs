//! `writ loop`: runs an agent program on one task after another, until there is none or too many failed.

mod call;
mod child;
mod dry_run;
mod post_hook;
mod prepare;
mod progress;
mod prompt;
mod stats;
mod tally;
mod turn;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use contract::domain::request::RequestId;
use engine::StopSignal;
use engine::sandbox::CommandSandboxes;
use ops::event::note::Request as Note;
use ops::verb::Surface;
use ops::{Caller, Context, Error, Result, Session};
use serde_json::json;

use crate::app::Globals;
use crate::confined::{self, SandboxFlags};
use crate::host;
use crate::local::LocalCommand;
use crate::output::{Output, say};
use call::AgentCommand;
use tally::{Report, Tally};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("loop", Surface::Continuity), stats::LOCAL];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Agent programs:\n  The programs of `writ executors list` that have their own stream, such as claude and codex, are called headless, also \
                  behind a path or `env X=1`, with the context on standard input. Any other program gets the context on standard input. {prompt_file}, {task_id} \
                  and {project} in its arguments are replaced; with {prompt_file} the context is in that file instead.\n\n\
                  With `[sandbox] mode` in the configuration the program is confined to the project, with a HOME of its own.\n\n\
                  The exit code is 0 also if a task failed: the answer counts them.\n\n\
                  Examples:\n  writ loop --command codex --project-dir .\n  writ loop --command \"my-agent --file {prompt_file}\" --max-tasks 3 --dry-run"
)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    inner: Option<Command>,
    /// The project to work on; the agent program is started in this directory
    #[arg(long, value_name = "DIR")]
    project_dir: Option<PathBuf>,
    /// Stop after this many completed tasks
    #[arg(long, default_value_t = 10, allow_negative_numbers = true)]
    max_tasks: usize,
    /// Stop after this many failures in a row; 0 for never
    #[arg(long, default_value_t = 3, allow_negative_numbers = true)]
    max_fails: u32,
    /// Stop the agent program after this time on one task
    #[arg(long, default_value = "10m", value_name = "DURATION", allow_hyphen_values = true, value_parser = host::length)]
    task_timeout: Duration,
    /// Wait this long between two tasks
    #[arg(long, default_value = "5s", value_name = "DURATION", allow_hyphen_values = true, value_parser = host::length)]
    cooldown: Duration,
    /// Show which tasks would be worked on and what would be started, but do nothing
    #[arg(long)]
    dry_run: bool,
    /// How often the agent program is started for a task whose checks fail
    #[arg(long, default_value_t = 1, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// The agent program and its arguments, quoted as for a shell
    #[arg(long, default_value = "claude")]
    command: String,
    /// A shell command that gets the results on standard input
    #[arg(long, value_name = "LINE")]
    post_hook: Option<String>,
    /// Start the agent program without its hooks
    #[arg(long)]
    spawn_disable_hooks: bool,
    /// Whether processes live in a pid namespace of their own; off for sudo and containers
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = host::namespace)]
    namespace: Namespace,
    /// What the agent program may do with the project's repository, where it is in a sandbox: read it, or commit
    #[arg(long, value_name = "read|commit", default_value = "read", value_parser = host::git_use)]
    git: GitUse,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Command {
    /// Show statistics of past loops
    Stats(stats::Args),
}

/// Everything that stays the same from task to task.
struct Loop<'l> {
    args: &'l Args,
    command: AgentCommand,
    caller: Caller,
    /// Where the calls come from.
    session: Session,
    project: Option<String>,
    directory: PathBuf,
    store: PathBuf,
    stop: StopSignal,
    /// What the request ids of this loop begin with.
    name: String,
    /// `None` where agent programs are not confined.
    sandboxes: Option<CommandSandboxes>,
}

impl Loop<'_> {
    fn key(&self, step: &str) -> Result<Session> {
        let request_id = RequestId::parse(&format!("{}_{step}", self.name))
            .map_err(|error| Error::new(ErrorCode::Bug, error.to_string()))?;
        Ok(Session { caller: self.caller.clone(), ..self.session.under(request_id) })
    }
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if let Some(Command::Stats(args)) = &args.inner {
        return stats::run(args, globals, output);
    }
    let mut job = prepare::prepared(args, globals)?;
    if args.dry_run {
        let report = dry_run::report(&job, globals)?;
        return Ok(output.answer(&report, || report.planned()));
    }
    let flags = SandboxFlags { what: "writ loop", git: args.git, namespace: args.namespace };
    job.sandboxes = confined::configured(globals, &job.directory, &flags)?;
    let mut cx = host::open(globals)?;
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    engine::supervisor::become_subreaper().ok();
    ops::epoch::program::enter(&mut cx, &job.caller, "loop")?;
    let begun = Instant::now();
    let mut tally = Tally::default();
    let worked = work(&job, &mut cx, &mut tally);
    let report = tally.report(begun.elapsed().as_secs_f64());
    // A store that failed is not asked again; everything else is worth remembering.
    let noted = if worked.is_ok() { note(&job, &mut cx, &report) } else { Ok(()) };
    // A row that stays is removed by the next program.
    ops::epoch::program::leave(&mut cx, &job.caller).ok();
    drop(cx);
    if let Some(line) = &args.post_hook {
        post_hook::run(&job, line, &report);
    }
    let details = json!(report);
    worked.and(noted).map_err(|error| error.details(details.clone()))?;
    match job.stop.raised() {
        Some(signal) => {
            let message = format!("interrupted by signal {signal}");
            Err(Error::new(ErrorCode::Interrupted, message).details(details))
        }
        None => Ok(output.answer(&report, || report.text())),
    }
}

/// Task after task. Ends when there is none, when it is enough, or when somebody asks.
fn work(job: &Loop<'_>, cx: &mut Context, tally: &mut Tally) -> Result<()> {
    let mut number = 0;
    while !tally.is_enough(job.args.max_tasks, job.args.max_fails) && job.stop.raised().is_none() {
        if number > 0 && turn::is_ready(job, cx)? {
            crate::child::pause(job.args.cooldown, &job.stop);
            if job.stop.raised().is_some() {
                break;
            }
        }
        number += 1;
        match turn::take(job, cx, number)? {
            Some(outcome) => {
                say(&outcome.line());
                tally.add(outcome);
            }
            None => break,
        }
    }
    Ok(())
}

fn note(job: &Loop<'_>, cx: &mut Context, report: &Report) -> Result<()> {
    let message = format!("{} completed, {} failed", report.completed, report.failed);
    let metadata = json!({
        "completed": report.completed,
        "failed": report.failed,
        "total": report.total,
        "duration_sec": report.duration_sec,
    });
    let request = Note {
        kind: "run_completed".to_owned(),
        message,
        metadata,
        project_id: job.project.clone(),
        task_id: None,
    };
    ops::event::note::note(cx, &job.key("done")?, &request).map(|_| ())
}
