//! `ao`: the side of the bridge that runs skills and keeps learnings.

use std::ffi::OsString;
use std::process::ExitCode;

use ops::Result;

use crate::app::Globals;
use crate::bridge_line::{self, BridgeLine, LineOptions};
use crate::output::Output;

#[derive(Debug, clap::Parser)]
#[command(
    name = "ao",
    version,
    about = "Inject learnings, judge work, and keep the record of skills",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Ao {
    #[command(flatten)]
    options: LineOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the version
    Version,
}

pub(crate) fn main(words: &[OsString]) -> ExitCode {
    bridge_line::main::<Ao>(words)
}

impl BridgeLine for Ao {
    fn options(&self) -> &LineOptions {
        &self.options
    }

    fn run(&self, _: &Globals, output: &Output) -> Result<ExitCode> {
        match &self.command {
            Command::Version => Ok(output.text(&bridge_line::version())),
        }
    }
}
