//! `writ hook uninstall`

use std::process::ExitCode;

use ops::Result;
use serde_json::json;

use super::{apply, program, show};
use crate::app::Globals;
use crate::hooks::HookProgram;
use crate::hooks::adapter::HookAdapter;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: super::HookSelector,
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
    let mut answer = show::answers(&plans);
    let left = still_installed(args, &program);
    if !left.is_empty() {
        answer
            .insert("still_installed".to_owned(), left.iter().map(|adapter| json!(adapter.name())).collect());
    }
    let notes: String = left.iter().map(|adapter| note(*adapter)).collect();
    Ok(show::print(output, answer, &apply::changes(&plans), args.which.dry_run, &notes))
}

fn note(adapter: &dyn HookAdapter) -> String {
    let (title, name) = (adapter.title(), adapter.name());
    format!("{title} still has its hooks; to remove them: writ hook uninstall --{name}\n")
}

/// Agent programs that were not named and keep their hooks.
fn still_installed(args: &Args, program: &HookProgram) -> Vec<&'static dyn HookAdapter> {
    let has_hooks = |adapter: &&'static dyn HookAdapter| {
        let plan = adapter.uninstall(args.which.scope(), program, false);
        plan.is_ok_and(|plan| !plan.changes.is_empty())
    };
    args.which.agents.unnamed().filter(has_hooks).collect()
}

pub(super) fn planned(args: &Args, program: &HookProgram) -> Result<apply::Plans> {
    let (scope, force) = (args.which.scope(), args.force);
    let chosen = args.which.agents.chosen()?.into_iter();
    chosen.map(|adapter| Ok((adapter, adapter.uninstall(scope, program, force)?))).collect()
}

/// Makes the changes that are still needed once the files are locked.
pub(super) fn carry_out(first: apply::Plans, args: &Args, program: &HookProgram) -> Result<apply::Plans> {
    apply::carry_out(first, || planned(args, program))
}
