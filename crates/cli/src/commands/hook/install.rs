//! `writ hook install`

use std::process::ExitCode;

use ops::Result;
use serde_json::json;

use super::{HookSelector as Args, apply, program, show};
use crate::app::Globals;
use crate::hooks::HookProgram;
use crate::hooks::adapter::HookAdapter;
use crate::output::Output;

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = program(globals)?;
    let chosen = args.agents.chosen()?;
    // Before the locks, which make directories.
    let made: Vec<Vec<String>> =
        chosen.iter().map(|adapter| adapter.missing_directories(args.scope())).collect::<Result<_>>()?;
    let planned = || planned(args, &program, &chosen, &made);
    // Everything that is refused is refused before anything is written.
    let mut plans = planned()?;
    if !args.dry_run {
        plans = apply::carry_out(plans, planned)?;
    }
    let changes = apply::changes(&plans);
    let message = match (changes.is_empty(), args.dry_run) {
        (true, _) => "everything is installed already",
        (false, true) => "nothing was changed",
        (false, false) => "installed; new sessions of the agents use writ",
    };
    let mut answer = show::answers(&plans);
    answer.insert("message".to_owned(), json!(message));
    Ok(show::print(output, answer, &changes, args.dry_run, ""))
}

fn planned(
    args: &Args,
    program: &HookProgram,
    chosen: &[&'static dyn HookAdapter],
    made: &[Vec<String>],
) -> Result<apply::Plans> {
    let plans = chosen.iter().zip(made);
    plans.map(|(adapter, made)| Ok((*adapter, adapter.install(args.scope(), program, made)?))).collect()
}
