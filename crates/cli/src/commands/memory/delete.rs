//! `writ memory delete`

use std::process::ExitCode;

use ops::Result;
use ops::memory::delete::delete;

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
    let key = host::required_key(globals)?;
    let given = delete(&mut host::open(globals)?, &key, &args.name.name())?;
    Ok(output.answer(&given.answer, || format!("forgot {}", given.answer.key)))
}
