//! `writ ready`

use std::process::ExitCode;

use ops::Result;
use ops::task::ready::{Ready, Request};

use super::task::line;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ ready\n  writ ready --limit 5")]
pub(crate) struct Args {
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { limit: Some(args.limit) };
    host::answer::<Ready>(globals, output, &request, |answer| match answer.tasks.as_slice() {
        [] => "nothing is ready\n".to_owned(),
        tasks => tasks.iter().map(|task| format!("{}\n", line(task))).collect(),
    })
}
