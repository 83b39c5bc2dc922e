//! `writ memory pin`

use std::process::ExitCode;

use ops::Result;
use ops::memory::pin::{Request, pin};

use super::NameArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArgs,
    /// Let it fade and expire again
    #[arg(long)]
    unpin: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let request = Request { name: args.name.name(), unpin: args.unpin };
    let given = pin(&mut host::open(globals)?, &key, &request)?;
    let verb = if args.unpin { "unpinned" } else { "pinned" };
    Ok(output.answer(&given.answer, || format!("{verb} {}", given.answer.key)))
}
