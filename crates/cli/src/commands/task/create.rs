//! `writ task create`

use std::process::ExitCode;

use contract::command_line::{self, LineFault};
use contract::domain::check::Check;
use contract::domain::code::ErrorCode;
use ops::task::create::{Create, Request};
use ops::{Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::output::Output;
use crate::{host, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One line that says what to do
    #[arg(long)]
    title: String,
    /// Details
    #[arg(long = "desc", visible_alias = "description", default_value = "")]
    description: String,
    /// The project the task belongs to [default: the project of this directory]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Create the task outside of projects
    #[arg(long, conflicts_with = "project_id")]
    no_project: bool,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
    /// A command that must pass before the task is done; may be repeated. It runs without a shell: quotes are
    /// understood, nothing is expanded
    #[arg(long = "check", value_name = "COMMAND")]
    checks: Vec<String>,
    /// The same for a script that `sh -c` runs, after the commands of --check
    #[arg(long = "check-shell", value_name = "SCRIPT")]
    check_scripts: Vec<String>,
    /// A file or directory that the checks rest on, besides the files they name; may be repeated. If it changes before
    /// the task is done, done is only claimed
    #[arg(long = "pin", value_name = "PATH")]
    pins: Vec<String>,
    /// The task may change the files that its checks name or --pin names
    #[arg(long)]
    checks_may_change: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let checks = checks(args)?;
    let project_id = project::named_or_here(args.project_id.as_deref()).filter(|_| !args.no_project);
    let is_directory = project_id.as_deref().is_some_and(|id| id.starts_with('/'));
    let here = || host::absolute(".".into()).to_string_lossy().into_owned();
    let request = Request {
        check_directory: (!checks.is_empty() && !is_directory).then(here),
        checks,
        project_id,
        title: args.title.clone(),
        description: args.description.clone(),
        priority: args.priority,
        pins: args.pins.clone(),
        checks_may_change: args.checks_may_change,
    };
    host::answer::<Create>(globals, output, &request, |answer| format!("created {}", answer.task.id))
}

fn checks(args: &Args) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for line in &args.checks {
        let arguments = command_line::split(line).map_err(|fault| {
            let hint = match fault {
                LineFault::Empty => "name a program and its arguments, such as --check \"cargo test\"",
                LineFault::UnclosedQuote(_) | LineFault::UnfinishedEscape | LineFault::Operator(_) => {
                    "use --check-shell to run it with a shell"
                }
            };
            invalid("--check", line, &fault.to_string()).hint(hint)
        })?;
        checks.push(Check::of_arguments(arguments));
    }
    for script in &args.check_scripts {
        if script.trim().is_empty() {
            return Err(invalid("--check-shell", script, "must name a program"));
        }
        checks.push(Check::of_script(script));
    }
    Ok(checks)
}

fn invalid(flag: &str, text: &str, problem: &str) -> Error {
    Error::new(ErrorCode::InvalidInput, format!("{flag} `{text}` {problem}")).details(json!({"path": flag}))
}
