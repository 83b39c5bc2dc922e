//! `writ memory search`

use std::process::ExitCode;

use ops::Result;
use ops::memory::search::{Request, search};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words that must all be in the key or the value
    query: String,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { query: args.query.clone(), limit: Some(args.limit) };
    let answer = search(&mut host::open(globals)?, &request)?;
    Ok(output.answer(&answer, || super::lines(&answer.page)))
}
