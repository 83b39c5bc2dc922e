//! `writ executors`

mod list;
mod test;

use std::process::ExitCode;

use ops::Result;
use ops::verb::Surface;

use crate::app::Globals;
use crate::local::LocalCommand;
use crate::output::Output;

pub(crate) const LOCAL: &[LocalCommand] = &[
    LocalCommand::reads("executors list", Surface::Writ),
    LocalCommand::changes("executors test", Surface::Writ),
];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List every executor that a plan can name
    #[command(after_help = "Examples:\n  writ executors list\n  writ executors list --output json")]
    List,
    /// Give an executor a tiny task and report each step
    ///
    /// It works in an empty directory. An agent makes one model call.
    #[command(
        after_help = "Examples:\n  writ executors test claude\n  writ executors test claude --model haiku"
    )]
    Test(test::Args),
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List => list::run(output),
        Command::Test(args) => test::run(args, globals, output),
    }
}
