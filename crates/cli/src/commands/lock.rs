//! `writ lock`

use std::process::ExitCode;

use ops::Result;
use ops::lock::{LockView, acquire, check, force, list, release, renew};

use super::crew::{CrewSelector, answer_verdict, reference, token as parse_token};
use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::person::PersonArgs;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Take locks for a task, all or none
    #[command(after_help = "Examples:
  writ lock acquire --run RUN --task T-2 src/parser docs/grammar.md
  writ lock acquire --run RUN --task T-3 --shared src")]
    Acquire {
        #[command(flatten)]
        which: CrewSelector,
        /// Files, and directories with everything in them
        #[arg(required = true)]
        resources: Vec<String>,
        /// Take shared locks: other tasks may hold shared locks on the same resources
        #[arg(long)]
        shared: bool,
        /// The lease: how long the holder may go without a heartbeat [default: the timeout of the task's row]
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        /// The token of the locks that the task holds already, which the new grant replaces
        #[arg(long)]
        token: Option<String>,
    },
    /// Renew the lease of a task's locks
    #[command(after_help = "Examples:
  writ lock renew --run RUN --task T-2 --token TOKEN")]
    Renew {
        #[command(flatten)]
        which: CrewSelector,
        /// The token that `lock acquire` or `assignment issue` printed
        #[arg(long)]
        token: String,
    },
    /// Release the locks of a task
    #[command(
        after_help = "With --force a person takes the locks from an engine. The engine and everything that it started is ended
first, where it can be seen from here; on another machine or in another container the person answers for that.

Examples:
  writ lock release --run RUN --task T-2 --token TOKEN --reason \"not needed any more\"
  writ lock release --run RUN --task T-2 --force --reason \"that container was deleted\""
    )]
    Release {
        #[command(flatten)]
        which: CrewSelector,
        /// The token that `lock acquire` printed
        #[arg(id = "given_token", long = "token", value_name = "TOKEN")]
        #[arg(required_unless_present = "force", conflicts_with = "force")]
        token: Option<String>,
        /// Why, for the log
        #[arg(long, required_if_eq("force", "true"))]
        reason: Option<String>,
        /// Take the locks from the engine that holds them; asks at the terminal
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        decider: PersonArgs,
    },
    /// List locks and their holders
    #[command(after_help = "Examples:
  writ lock list
  writ lock list --run RUN --history")]
    List {
        /// Only locks of this run
        #[arg(long)]
        run: Option<String>,
        /// Also released locks
        #[arg(long, requires = "run")]
        history: bool,
    },
    /// Check changed files against the locks of a run
    #[command(after_help = "Exit codes: 0 allowed, 1 denied.

Examples:
  writ lock check --run RUN src/parser/lexer.rs
  writ lock check --run RUN --task T-2 --diff HEAD")]
    Check {
        /// The run
        #[arg(long)]
        run: String,
        /// Count only the locks of this task
        #[arg(long)]
        task: Option<String>,
        /// Also check every file that differs from this revision by git: changed, deleted and untracked files, also in
        /// submodules. Ignored files are left out, and files marked assume-unchanged or skip-worktree
        #[arg(long, value_name = "REV", num_args = 0..=1, default_missing_value = "HEAD")]
        diff: Option<String>,
        /// Changed files, relative to the workspace
        #[arg(required_unless_present = "diff")]
        files: Vec<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Acquire { which, resources, shared, timeout, token } => {
            let request = acquire::Request {
                run: which.run.clone(),
                task: which.reference(globals)?,
                resources: resources.clone(),
                shared: *shared,
                timeout_seconds: *timeout,
                token: token.as_deref().map(parse_token).transpose()?,
            };
            host::answer::<acquire::Acquire>(globals, output, &request, |answer| {
                format!("token {}", answer.token)
            })
        }
        Command::Renew { which, token } => {
            let request = renew::Request {
                run: which.run.clone(),
                task: which.reference(globals)?,
                token: parse_token(token)?,
            };
            host::answer::<renew::Renew>(globals, output, &request, |answer| {
                format!("token {} renewed", answer.token)
            })
        }
        Command::Release { which, token, reason, force, decider } => {
            let (run, task) = (which.run.clone(), which.reference(globals)?);
            if *force {
                let request = force::Request { run, task, reason: reason.clone().unwrap_or_default() };
                return host::answer::<force::Force>(&decider.globals(globals), output, &request, |answer| {
                    format!("released {}", answer.released.join(", "))
                });
            }
            let token = parse_token(token.as_deref().unwrap_or_default())?;
            let request = release::Request { run, task, token, reason: reason.clone() };
            host::answer::<release::Release>(globals, output, &request, |answer| {
                format!("released {}", answer.released.join(", "))
            })
        }
        Command::List { run, history } => {
            let request = list::Request { run: run.clone(), history: *history };
            host::answer::<list::List>(globals, output, &request, |answer| match answer.locks.as_slice() {
                [] => "no locks".to_owned(),
                locks => locks.iter().map(line).collect(),
            })
        }
        Command::Check { run, task, diff, files } => {
            let request = check::Request {
                run: run.clone(),
                task: task.as_deref().map(|task| reference(globals, run, task)).transpose()?,
                changed: files.clone(),
                diff: diff.clone(),
            };
            Ok(answer_verdict::<check::Check>(globals, output, &request))
        }
    }
}

fn line(lock: &LockView) -> String {
    let held = &lock.held;
    let state = match (held.active, lock.is_expired) {
        (false, _) => "released",
        (true, true) => "expired",
        (true, false) => "held",
    };
    let holder = held.holder.as_ref().map(|holder| format!("  process {}", holder.pid)).unwrap_or_default();
    format!(
        "{:>6}  {state:<8}  {:<9}  {:<8}  {}  {}{holder}\n",
        held.token, held.mode, held.reference, held.run_id, held.scope
    )
}
