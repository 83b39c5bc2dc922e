//! `ol`: the side of the bridge that runs quests and validates work.

pub(crate) mod init;

use std::ffi::OsString;
use std::process::ExitCode;

use ops::Result;

use crate::app::Globals;
use crate::bridge_line::{self, BridgeLine, LineOptions};
use crate::output::Output;

#[derive(Debug, clap::Parser)]
#[command(
    name = "ol",
    version,
    about = "Run quests phase by phase, and validate their work",
    after_help = "Exit codes: 0 success, 1 error, 2 intervention needed, 42 all phases done",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Ol {
    #[command(flatten)]
    options: LineOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the .ol directory of a project
    Init(init::Args),
    /// Print the version
    Version,
}

pub(crate) fn main(words: &[OsString]) -> ExitCode {
    bridge_line::main::<Ol>(words)
}

impl BridgeLine for Ol {
    fn options(&self) -> &LineOptions {
        &self.options
    }

    fn run(&self, _: &Globals, output: &Output) -> Result<ExitCode> {
        match &self.command {
            Command::Init(args) => init::run(args, output),
            Command::Version => Ok(output.text(&bridge_line::version())),
        }
    }
}
