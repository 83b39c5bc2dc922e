//! `writ hook`: into the hooks of agent programs, out of them, and what the hooks call.

mod handle;
mod install;
mod show;
mod telling;
mod uninstall;

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use crate::app::Globals;
use crate::hooks::Program;
use crate::hooks::handling::Handler;
use crate::hooks::places::Scope;
use crate::host;
use crate::output::Output;

pub(crate) use handle::never_fail;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Let Claude Code and OpenCode call writ
    Install(Which),
    /// Take writ out of their settings again
    Uninstall(uninstall::Args),
    /// What the hooks call
    #[command(flatten)]
    Handle(Handler),
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the contract")]
pub(crate) struct Which {
    /// Only Claude Code, unless --opencode is given too
    #[arg(long)]
    claude: bool,
    /// Only OpenCode, unless --claude is given too
    #[arg(long)]
    opencode: bool,
    /// In the settings of the project in the current directory, not in the user's
    #[arg(long)]
    project: bool,
    /// Print every file and every byte that would be touched, but touch nothing
    #[arg(long)]
    dry_run: bool,
}

impl Which {
    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }

    /// Without a choice both are meant.
    fn claude(&self) -> bool {
        self.claude || !self.opencode
    }

    fn opencode(&self) -> bool {
        self.opencode || !self.claude
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Install(args) => install::run(args, globals, output),
        Command::Uninstall(args) => uninstall::run(args, globals, output),
        Command::Handle(handler) => Ok(handle::run(*handler, globals, output)),
    }
}

/// This program as hooks shall call it: by its whole path, wherever the agent was started.
pub(crate) fn program(globals: &Globals) -> Result<Program> {
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
    Ok(Program { path: text(path)?, db_path })
}
