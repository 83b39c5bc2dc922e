//! `writ lock`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use engine::git::Git;
use ops::lock::{LockView, acquire, check, list, release, renew};
use ops::{Context, Error, Result};
use serde_json::json;

use super::crew::{Which, print_verdict};
use crate::app::Globals;
use crate::output::Output;
use crate::{env, host};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Take locks for a task: all of them or none
    Acquire {
        #[command(flatten)]
        which: Which,
        /// Files, or directories with all that is in them
        #[arg(required = true)]
        resources: Vec<String>,
        /// Others may hold them shared too
        #[arg(long)]
        shared: bool,
        /// How long the holder may be silent, in seconds [default: what the task's row says]
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
    },
    /// Prolong the lease of what a task holds
    Renew {
        #[command(flatten)]
        which: Which,
        /// The number of the grant
        #[arg(long)]
        token: i64,
    },
    /// Give back what a task holds
    Release {
        #[command(flatten)]
        which: Which,
        /// The number of the grant
        #[arg(long)]
        token: i64,
        /// Why, for the record
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show who holds what
    List {
        /// Only this run
        #[arg(long)]
        run: Option<String>,
        /// Also what was given back
        #[arg(long, requires = "run")]
        history: bool,
    },
    /// Say whether changed files lie in what is locked, and in nothing forbidden
    Check {
        /// The run
        #[arg(long)]
        run: String,
        /// Only what this task holds counts
        #[arg(long)]
        task: Option<String>,
        /// Ask git what differs from this revision: changed, deleted and untracked files, those of submodules too. Not
        /// seen are files that git ignores, and those that its index marks assume-unchanged or skip-worktree
        #[arg(long, value_name = "REV", num_args = 0..=1, default_missing_value = "HEAD")]
        diff: Option<String>,
        /// Changed files, as seen from the workspace
        #[arg(required_unless_present = "diff")]
        files: Vec<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    match command {
        Command::Acquire { which, resources, shared, timeout } => {
            let request = acquire::Request {
                run: which.run.clone(),
                task: which.task.clone(),
                resources: resources.clone(),
                shared: *shared,
                timeout_seconds: *timeout,
            };
            let given = acquire::acquire(&mut cx, &host::any_key(globals)?, &request)?;
            Ok(output.answer(&given.answer, || format!("token {}", given.answer.grant.token)))
        }
        Command::Renew { which, token } => {
            let request = renew::Request { run: which.run.clone(), task: which.task.clone(), token: *token };
            let answer = renew::renew(&mut cx, &request)?;
            Ok(output.answer(&answer, || format!("token {token} renewed")))
        }
        Command::Release { which, token, reason } => {
            let request = release::Request {
                run: which.run.clone(),
                task: which.task.clone(),
                token: *token,
                reason: reason.clone(),
            };
            let given = release::release(&mut cx, &host::any_key(globals)?, &request)?;
            Ok(output.answer(&given.answer, || format!("released {}", given.answer.released.join(", "))))
        }
        Command::List { run, history } => {
            let locks = list::list(&mut cx, &list::Request { run: run.clone(), history: *history })?;
            Ok(output.answer(&json!({"count": locks.len(), "locks": locks}), || {
                if locks.is_empty() {
                    "nothing is locked".to_owned()
                } else {
                    locks.iter().map(line).collect()
                }
            }))
        }
        Command::Check { run, task, diff, files } => {
            let mut changed = files.clone();
            if let Some(revision) = diff {
                changed.extend(ask_git(&mut cx, run, revision)?);
            }
            let request = check::Request { run: run.clone(), task: task.clone(), changed };
            Ok(print_verdict(&check::check(&mut cx, &request)?, output))
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
    format!(
        "{:>6}  {state:<8}  {:<9}  {:<8}  {}  {}\n",
        held.token, held.mode, held.reference, held.run_id, held.scope
    )
}

fn ask_git(cx: &mut Context, run: &str, revision: &str) -> Result<Vec<String>> {
    let shown = ops::ledger::show::show(cx, run)?;
    let workspace = shown["workspace"].as_str().unwrap_or(".").to_owned();
    let (environment, shim, now) = (env::inherited(), host::shim(), cx.now().at);
    let mark = mint(cx.ids(), now);
    let git = Git { launcher: &shim, workspace: Path::new(&workspace), environment: &environment, mark };
    git.changed(revision).map_err(|problem| {
        Error::new(ErrorCode::Io, format!("could not ask git what changed: {problem}"))
            .hint("name the changed files instead of --diff")
    })
}
