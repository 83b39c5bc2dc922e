//! `writ hook uninstall`

use std::process::ExitCode;

use ops::Result;

use super::{apply, program, show};
use crate::app::Globals;
use crate::hooks::Program;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: super::Which,
    /// Also remove a plugin file that was changed after the installation
    #[arg(long)]
    pub(super) force: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = program(globals)?;
    let mut plans = planned(args, &program)?;
    if !args.which.dry_run {
        plans = carry_out(plans, args, &program)?;
    }
    Ok(show::print(output, show::answers(&plans), &apply::changes(&plans), args.which.dry_run))
}

pub(super) fn planned(args: &Args, program: &Program) -> Result<apply::Plans> {
    let (scope, force) = (args.which.scope(), args.force);
    let chosen = args.which.agents.chosen()?.into_iter();
    chosen.map(|adapter| Ok((adapter, adapter.uninstall(scope, program, force)?))).collect()
}

/// Makes the changes that are still needed once the files are locked.
pub(super) fn carry_out(first: apply::Plans, args: &Args, program: &Program) -> Result<apply::Plans> {
    apply::carry_out(first, || planned(args, program))
}
