//! `writ memory list`

use std::process::ExitCode;

use ops::Result;
use ops::memory::list::{List, Request};

use super::PlaceArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// At most this many, up to 1000
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { scope: args.place.scope()?, scope_id: args.place.id(), limit: args.limit };
    host::answer::<List>(globals, output, &request, |answer| super::lines(&answer.page))
}
