//! `writ hook`: installs hooks in agent programs, removes them, and handles what they call.

mod agents;
mod apply;
mod call;
pub(crate) mod everywhere;
mod handle;
mod inside;
mod install;
mod session;
mod show;
mod telling;
mod uninstall;

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};

use crate::app::Globals;
use crate::hooks::HookProgram;
use crate::hooks::places::Scope;
use crate::host;
use crate::local::LocalCommand;
use crate::output::Output;

use agents::Agents;
use call::HandlerCall;
pub(crate) use handle::never_fail;

pub(crate) const LOCAL: &[LocalCommand] = &[
    LocalCommand::changes("hook install", Surface::Continuity),
    LocalCommand::changes("hook uninstall", Surface::Continuity),
    LocalCommand::changes("hook session-start", Surface::Handler),
    LocalCommand::changes("hook prompt", Surface::Handler),
    LocalCommand::changes("hook tool-failure", Surface::Handler),
    LocalCommand::changes("hook tool-success", Surface::Handler),
    LocalCommand::changes("hook checkpoint", Surface::Handler),
    LocalCommand::changes("hook task-completed", Surface::Handler),
    LocalCommand::changes("hook retrospective", Surface::Handler),
    LocalCommand::changes("hook retrospective-bg", Surface::Handler),
    LocalCommand::changes("hook session-end", Surface::Handler),
    LocalCommand::changes("hook subagent-stop", Surface::Handler),
    LocalCommand::changes("hook subagent-start", Surface::Handler),
    LocalCommand::changes("hook stop", Surface::Handler),
    LocalCommand::changes("hook todos", Surface::Handler),
];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Install hooks, so that an agent program calls writ
    #[command(
        long_about = "Install hooks, so that an agent program calls writ\n\nWithout a flag that names one, Claude Code is \
                      meant. Hooks of the program that the agent contract was written for are replaced; `hook \
                      uninstall` restores them.",
        after_help = "Examples:\n  writ hook install\n  writ hook install --opencode --dry-run\n  \
                      writ hook install --claude --project"
    )]
    Install(HookSelector),
    /// Remove the hooks again
    #[command(
        long_about = "Remove the hooks again\n\nA file that nobody changed since gets its old bytes back; from any other \
                      file only writ's own entries are removed. Without a flag that names an agent program, Claude \
                      Code is meant.",
        after_help = "Examples:\n  writ hook uninstall\n  writ hook uninstall --opencode --dry-run"
    )]
    Uninstall(uninstall::Args),
    /// What the hooks call
    #[command(flatten)]
    Handle(HandlerCall),
}

#[derive(Debug, clap::Args)]
pub(crate) struct HookSelector {
    #[command(flatten)]
    agents: Agents,
    /// Use the settings of the project in the current directory; they call `writ` by name
    #[arg(long)]
    project: bool,
    /// Show every change to every file, but change nothing
    #[arg(long)]
    dry_run: bool,
}

impl HookSelector {
    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Install(args) => install::run(args, globals, output),
        Command::Uninstall(args) => uninstall::run(args, globals, output),
        Command::Handle(call) => Ok(handle::run(call, globals, output)),
    }
}

/// This program, and the store that hooks shall use.
pub(crate) fn program(globals: &Globals) -> Result<HookProgram> {
    let unknown = |message: String| Error::new(ErrorCode::Io, message);
    let path = std::env::current_exe()
        .map_err(|error| unknown(format!("could not find out where this program is: {error}")))?;
    if !path.is_file() {
        return Err(unknown(format!("this program is no longer at {}", path.display())));
    }
    let text = |path: PathBuf| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Error::new(ErrorCode::InvalidInput, format!("the path {} is not UTF-8", path.display()))
        })
    };
    let db_path = globals.db_path.clone().map(|path| text(host::absolute(path))).transpose()?;
    Ok(HookProgram { path: text(path)?, db_path })
}
