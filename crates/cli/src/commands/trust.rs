//! `writ trust`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::trust::TrustState;
use ops::trust::View;
use ops::trust::grant::{Grant, Request};
use ops::trust::list::List;
use ops::trust::revoke::Revoke;
use ops::trust::show::Show;
use ops::{Error, Result, verb};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};
use crate::person::PersonArgs;

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Allow the commands in a project's .writ directory\n\n\
                  writ shows every command and asks you to confirm on the terminal. The answer holds until a command changes. \
                  Nothing in .writ runs before that.",
    after_help = "Examples:\n  writ trust\n  writ trust path/to/project --check\n  writ trust --list"
)]
pub(crate) struct Args {
    /// The project, or a directory below it
    #[arg(value_name = "DIR", default_value = ".", conflicts_with = "list")]
    directory: PathBuf,
    /// List the trusted projects
    #[arg(long, conflicts_with_all = ["check", "revoke"])]
    list: bool,
    /// Print whether the commands are trusted, and exit with 1 if they are not
    #[arg(long, conflicts_with = "revoke")]
    check: bool,
    /// Stop trusting the commands
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    decider: PersonArgs,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.list {
        return list(globals, output);
    }
    let directory = host::absolute(args.directory.clone());
    if !args.revoke && !directory.is_dir() {
        let message = format!("{} is not a directory", directory.display());
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    let directory = directory.to_str().map(contract::domain::workspace::id).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("{} is not UTF-8", directory.display()))
    })?;
    let request = Request { directory };
    if args.check {
        return check(globals, output, &request);
    }
    let globals = &args.decider.globals(globals);
    let mut cx = host::open(globals)?;
    let session = host::person_session(globals)?;
    let view = if args.revoke {
        verb::call::<Revoke>(&mut cx, &session, &request)?.answer
    } else {
        verb::call::<Grant>(&mut cx, &session, &request)?.answer
    };
    let text = || match (args.revoke, view.state) {
        (true, _) => format!("{} is not trusted any more\n", view.directory),
        (false, _) => shown(&view),
    };
    Ok(output.answer(&view, text))
}

fn check(globals: &Globals, output: &Output, request: &Request) -> Result<ExitCode> {
    let view = host::call::<Show>(globals, request)?;
    let printed = output.answer(&view, || shown(&view));
    Ok(if view.state.may_run() { printed } else { ExitCode::FAILURE })
}

fn list(globals: &Globals, output: &Output) -> Result<ExitCode> {
    let answer = host::call::<List>(globals, &ops::trust::list::Request::default())?;
    Ok(output.answer(&answer, || {
        if answer.trusted.is_empty() {
            return "no project is trusted\n".to_owned();
        }
        let row = |trust: &contract::domain::trust::Trust| {
            let commands: String =
                trust.commands.iter().map(|line| format!("  {}\n", one_line(line))).collect();
            format!("{}  by {} at {}\n{commands}", trust.directory, trust.trusted_by, trust.trusted_at)
        };
        answer.trusted.iter().map(row).collect()
    }))
}

/// The state of a project and its commands, for people.
fn shown(view: &View) -> String {
    let state = match view.state {
        TrustState::NoCommands => "has no commands in .writ, so there is nothing to trust",
        TrustState::Untrusted => "is not trusted: its commands do not run",
        TrustState::Trusted => "is trusted",
        TrustState::Changed => "has changed since it was trusted: its commands do not run",
    };
    let commands: String = view.commands.iter().map(|line| format!("  {}\n", one_line(line))).collect();
    let hint = match view.state {
        TrustState::Untrusted | TrustState::Changed => "allow them with `writ trust`\n",
        TrustState::NoCommands | TrustState::Trusted => "",
    };
    format!("{} {state}\n{commands}{hint}", view.directory)
}
