//! `writ hook uninstall`

use std::process::ExitCode;

use ops::Result;

use super::{apply, program, show};
use crate::app::Globals;
use crate::hooks::Program;
use crate::hooks::adapter::HookAdapter;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: super::Which,
    /// Also remove a plugin file that was changed after the installation
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = program(globals)?;
    let chosen = args.which.agents.chosen()?;
    let planned = || planned(args, &program, &chosen);
    let mut plans = planned()?;
    if !args.which.dry_run {
        plans = apply::carry_out(plans, planned)?;
    }
    let changes = apply::changes(&plans);
    Ok(show::print(output, show::answers(plans), &changes, args.which.dry_run))
}

fn planned(args: &Args, program: &Program, chosen: &[&'static dyn HookAdapter]) -> Result<apply::Plans> {
    let plans = chosen.iter();
    plans.map(|adapter| Ok((*adapter, adapter.uninstall(args.which.scope(), program, args.force)?))).collect()
}
