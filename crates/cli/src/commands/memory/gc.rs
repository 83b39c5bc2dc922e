//! `writ memory gc`

use std::process::ExitCode;

use ops::Result;
use ops::memory::gc::{Request, gc};

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
    let key = host::required_key(globals)?;
    let given = gc(&mut host::open(globals)?, &key, &Request { limit: Some(args.limit) })?;
    Ok(output.answer(&given.answer, || format!("removed {} expired memories", given.answer.deleted)))
}
