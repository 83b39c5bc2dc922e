//! `writ retry`

use std::process::ExitCode;

use ops::Result;
use ops::run::continue_run::{self, Continue};
use ops::run::retry::{Request, Retry};

use super::run::finish;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ retry task_01k2\n  writ retry task_01k2 --no-run")]
pub(crate) struct Args {
    /// The task's id, or a unique prefix of it
    task: String,
    /// Only make the task ready again; run it later with `writ run --continue`
    #[arg(long)]
    no_run: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let reset = host::call_on::<Retry>(&mut cx, globals, &Request { task_id: args.task.clone() })?;
    say(&format!("run {} has {} tasks to run again\n", reset.run_id, reset.reset.len()));
    if args.no_run {
        return Ok(output.answer(&reset, || format!("continue with `writ run --continue {}`", reset.run_id)));
    }
    let request = continue_run::Request { run: reset.run_id.to_string(), ..Default::default() };
    let answered = host::call_on::<Continue>(&mut cx, globals, &request);
    finish(answered, &mut cx, output)
}
