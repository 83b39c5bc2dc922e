//! `writ memory delete`

use std::process::ExitCode;

use ops::Result;
use ops::memory::delete::Delete;

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
    // Report a missing agent before an invalid value, as the agent contract does.
    host::required_session(globals)?;
    host::answer::<Delete>(globals, output, &args.name.name()?, |answer| format!("deleted {}", answer.key))
}
