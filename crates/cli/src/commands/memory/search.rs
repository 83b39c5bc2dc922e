//! `writ memory search`

use std::process::ExitCode;

use ops::Result;
use ops::memory::search::{Request, Search};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    query: Query,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
}

// The query, in one of its two forms.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Query {
    /// Words that must all be in the key or the value
    #[arg(id = "query", long = "query", value_name = "WORDS")]
    text: Option<String>,
    /// The same, without the flag
    #[arg(hide = true)]
    words: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let query = args.query.text.clone().or_else(|| args.query.words.clone()).unwrap_or_default();
    let request = Request { query, limit: Some(args.limit) };
    host::answer::<Search>(globals, output, &request, |answer| super::lines(&answer.page))
}
