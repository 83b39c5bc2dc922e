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
    #[arg(long, value_name = "WORDS", required_unless_present = "words")]
    query: Option<String>,
    /// The same, without the flag
    #[arg(hide = true, conflicts_with = "query")]
    words: Option<String>,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let query = args.query.clone().or_else(|| args.words.clone()).unwrap_or_default();
    let request = Request { query, limit: Some(args.limit) };
    let answer = search(&mut host::open(globals)?, &request)?;
    Ok(output.answer(&answer, || super::lines(&answer.page)))
}
