//! `writ completions`

use std::process::ExitCode;

use ops::Result;
use ops::verb::Surface;

use crate::app;
use crate::local::LocalCommand;
use crate::output::Output;

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("completions", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ completions bash > ~/.local/share/bash-completion/completions/writ\n  writ completions zsh"
)]
pub(crate) struct Args {
    /// The shell to complete for
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut app::grammar(), "writ", &mut script);
    Ok(output.text(&String::from_utf8_lossy(&script)))
}
