//! `writ convert`

use std::path::PathBuf;
use std::process::ExitCode;

use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    to: String,
    file: Option<PathBuf>,
}

pub(crate) fn run(_args: &Args, _output: &Output) -> ExitCode {
    ExitCode::from(2)
}
