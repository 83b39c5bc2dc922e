//! `writ memory pin`

use std::process::ExitCode;

use ops::Result;
use ops::memory::Name;
use ops::memory::pin::{Pin, Request};

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
    // Report a missing agent before an invalid value, as the agent contract does.
    host::required_session(globals)?;
    let Name { key, scope, scope_id } = args.name.name()?;
    let request = Request { key, scope, scope_id, unpin: args.unpin };
    host::answer::<Pin>(globals, output, &request, |answer| {
        format!("{} {}", if answer.pinned { "pinned" } else { "unpinned" }, answer.key)
    })
}
