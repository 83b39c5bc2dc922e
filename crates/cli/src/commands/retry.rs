//! `writ retry`

use std::path::Path;
use std::process::ExitCode;

use ops::Result;
use ops::run::retry::{Request, retry};

use super::run::work;
use crate::app::Globals;
use crate::output::{Output, say};
use crate::{config, host};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, or an unambiguous beginning of its id
    task: String,
    /// Only make it ready again; run it later with `writ run --continue`
    #[arg(long)]
    no_run: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let task = ops::task::get::get(&mut cx, &args.task)?;
    let mut config = config::load(&host::absolute(".".into()))?;
    if let Some(part) = &task.part {
        let run = ops::run::show::state(&mut cx, &part.run_id)?;
        config.heed_project(Path::new(&run.asked.workspace))?;
    }
    let key = host::any_key(globals)?;
    let given = retry(&mut cx, &key, &Request { task_id: task.id.to_string() })?;
    say(&format!("run {} has {} tasks to do again\n", given.answer.run_id, given.answer.reset.len()));
    if args.no_run {
        return Ok(output.answer(&given.answer, || {
            format!("continue with `writ run --continue {}`", given.answer.run_id)
        }));
    }
    let settings = host::engine_settings(globals, config, false)?;
    work(&mut cx, &given.answer.run_id, &settings, output)
}
