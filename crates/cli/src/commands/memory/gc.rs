//! `writ memory gc`

use std::process::ExitCode;

use ops::Result;
use ops::memory::gc::{Gc, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// At most this many, up to 10000
    #[arg(long, default_value_t = 500, allow_negative_numbers = true)]
    limit: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { limit: Some(args.limit) };
    host::answer::<Gc>(globals, output, &request, |answer| {
        format!("deleted {} expired memories", answer.deleted)
    })
}
