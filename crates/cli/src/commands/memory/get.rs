//! `writ memory get`

use std::process::ExitCode;

use ops::Result;
use ops::memory::get::Get;

use super::NameArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArgs,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    host::answer::<Get>(globals, output, &args.name.name()?, |memory| memory.value.clone())
}
