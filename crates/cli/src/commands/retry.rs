//! `writ retry`

use std::process::ExitCode;

use contract::domain::text::counted;
use ops::Result;
use ops::names::{LAST, is_run};
use ops::run::continue_run::{self, Continue};
use ops::run::retry::{Request, Retry};

use super::run::finish;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ retry\n  writ retry tests\n  writ retry task_01k2 --no-run")]
pub(crate) struct Args {
    /// A task (its id, a unique prefix of it, its id in a plan, or its T-n), or a run, whose failed, skipped and parked
    /// tasks are all run again [default: @last]
    #[arg(default_value = LAST, hide_default_value = true)]
    which: String,
    /// Only make the task ready again; run it later with `writ run --continue`
    #[arg(long)]
    no_run: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let which = Some(args.which.clone());
    let request = if is_run(&args.which) {
        Request { task_id: None, run: which }
    } else {
        Request { task_id: which, run: None }
    };
    let reset = host::call_on::<Retry>(&mut cx, globals, &request)?;
    say(&format!(
        "run {} has {} to run again, with the plan as it was submitted; `writ run FILE` takes a changed file\n",
        reset.run_id,
        counted(reset.reset.len(), "task")
    ));
    if args.no_run {
        return Ok(output.answer(&reset, || format!("continue with `writ run --continue {}`", reset.run_id)));
    }
    let request = continue_run::Request { run: reset.run_id.to_string(), ..Default::default() };
    let answered = host::call_on::<Continue>(&mut cx, globals, &request);
    finish(answered, &mut cx, output)
}
