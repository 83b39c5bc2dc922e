//! `writ loop`: runs an agent program on one task after another, until there is none or too many failed.

mod prepare;
mod progress;
mod stats;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use engine::looping;
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::confined::{self, SandboxFlags};
use crate::host;
use crate::local::LocalCommand;
use crate::output::Output;
use progress::LoopProgress;

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

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if let Some(Command::Stats(args)) = &args.inner {
        return stats::run(args, globals, output);
    }
    let mut settings = prepare::prepared(args, globals)?;
    if args.dry_run {
        // A dry run makes no store.
        let report = if settings.programs.store.exists() {
            looping::dry_run(&settings, &mut host::open(globals)?)?
        } else {
            looping::LoopTally::default().report(0.0)
        };
        return Ok(output.answer(&report, || text::planned(&report)));
    }
    let flags = SandboxFlags { what: "writ loop", git: args.git, namespace: args.namespace };
    settings.programs.sandboxes = confined::configured(globals, &settings.directory, &flags)?;
    settings.programs.logs = host::made_logs_directory(globals)?;
    let mut progress = LoopProgress::new();
    let (report, worked) = looping::run(&settings, host::open(globals)?, &mut |event| progress.take(event));
    let details = json!(report);
    worked.map_err(|error| error.details(details.clone()))?;
    match settings.programs.stop.raised() {
        Some(signal) => {
            let message = format!("interrupted by signal {signal}");
            Err(Error::new(ErrorCode::Interrupted, message).details(details))
        }
        None => Ok(output.answer(&report, || text::summary(&report))),
    }
}
