//! `writ hook uninstall`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde_json::{Map, Value, json};

use super::{program, show};
use crate::app::Globals;
use crate::hooks::files::{self, Lock};
use crate::hooks::opencode::{self, Found};
use crate::hooks::{FileChange, Program, claude, places};
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: super::Which,
    /// Remove OpenCode's plugin also when it was changed after the installation
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) changes: Vec<FileChange>,
    /// Directories to remove afterwards, where nothing else is in them.
    directories: Vec<String>,
    pub(super) told: Map<String, Value>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = program(globals)?;
    let mut plan = planned(args, &program)?;
    if !args.which.dry_run {
        plan = carry_out(plan, args, &program)?;
    }
    Ok(show::answer(output, plan.told, &plan.changes, args.which.dry_run))
}

/// Makes the changes that are still needed once the files are locked.
pub(super) fn carry_out(first: Plan, args: &Args, program: &Program) -> Result<Plan> {
    if first.changes.is_empty() {
        return Ok(first);
    }
    let _locks = locked(&first.changes)?;
    let plan = planned(args, program)?;
    files::apply(&plan.changes)?;
    files::remove_directories(&plan.directories);
    Ok(plan)
}

fn locked(changes: &[FileChange]) -> Result<Vec<Lock>> {
    let mut directories: Vec<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    directories.sort_unstable();
    directories.dedup();
    directories.into_iter().map(files::lock).collect()
}

pub(super) fn planned(args: &Args, program: &Program) -> Result<Plan> {
    let mut plan = Plan::default();
    if args.which.claude() {
        claude(args, program, &mut plan)?;
    }
    if args.which.opencode() {
        opencode(args, &mut plan)?;
    }
    Ok(plan)
}

fn claude(args: &Args, program: &Program, plan: &mut Plan) -> Result<()> {
    let named = places::claude_settings(args.which.scope())?;
    let path = files::real(&named)?;
    let mut told = json!({"path": named.display().to_string(), "removed": null});
    let record = show::record(&path)?;
    if let Some(before) = files::read(&path)? {
        let refused = |reason: String| {
            Error::new(ErrorCode::InvalidInput, format!("{} {reason}", path.display()))
                .hint("mend the file first; nothing was written")
                .details(json!({"path": path.display().to_string()}))
        };
        let found = claude::uninstall(&before, record.as_ref(), program).map_err(refused)?;
        if !found.removed.is_empty() {
            told["removed"] = json!(found.removed);
            told["restored"] = json!(found.restored);
        }
        if found.text.as_ref() != Some(&before) {
            let after = found.text;
            plan.changes.push(FileChange { path: path.clone(), before: Some(before), after });
        }
    }
    if let Some(record) = record {
        forget(&path, record.directories, plan)?;
    }
    plan.told.insert("claude".to_owned(), told);
    Ok(())
}

fn opencode(args: &Args, plan: &mut Plan) -> Result<()> {
    let named = places::opencode_plugin(args.which.scope())?;
    let path = files::real(&named)?;
    let before = files::read(&path)?;
    let (status, removed) = match opencode::find(before.as_deref()) {
        Found::Nothing => ("not_found", false),
        Found::Ours => ("removed", true),
        Found::Changed | Found::Foreign if args.force => ("removed", true),
        Found::Changed | Found::Foreign => ("skipped_conflict", false),
    };
    let path_told = named.display().to_string();
    plan.told.insert("opencode".to_owned(), json!({"path": path_told, "removed": removed, "status": status}));
    if removed {
        plan.changes.push(FileChange { path: path.clone(), before, after: None });
    }
    if let Some(record) = show::directories(&path)?.filter(|_| status != "skipped_conflict") {
        forget(&path, record.directories, plan)?;
    }
    Ok(())
}

/// What was remembered of an installation goes with it.
fn forget(of: &Path, directories: Vec<String>, plan: &mut Plan) -> Result<()> {
    if let Some(file) = places::record(of) {
        let before = files::read(&file)?;
        plan.changes.push(FileChange { path: file, before, after: None });
    }
    plan.directories.extend(directories);
    Ok(())
}
