//! `writ completions`

use std::process::ExitCode;

use ops::Result;

use crate::app;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut app::grammar(), "writ", &mut script);
    Ok(output.text(&String::from_utf8_lossy(&script)))
}
