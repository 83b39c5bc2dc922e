//! `writ hook install`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Which as Args, program, show};
use crate::app::Globals;
use crate::hooks::files::{self, Lock};
use crate::hooks::opencode::{self, Found};
use crate::hooks::{FileChange, Program, claude, places};
use crate::output::Output;

/// What would be done, and what would be told about it.
#[derive(Default)]
struct Plan {
    changes: Vec<FileChange>,
    told: Map<String, Value>,
}

/// Directories that are missing before the installation, and so are made by it.
struct Made {
    claude: Vec<String>,
    opencode: Vec<String>,
}

impl Made {
    fn for_files(args: &Args) -> Result<Self> {
        let missing = |path: PathBuf| {
            let directories = files::missing_directories(&path);
            directories.iter().map(|directory| directory.display().to_string()).collect()
        };
        Ok(Self {
            claude: missing(places::claude_settings(args.scope())?),
            opencode: missing(places::opencode_plugin(args.scope())?),
        })
    }
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = program(globals)?;
    // Whatever is refused is refused before anything is touched.
    let made = Made::for_files(args)?;
    let mut plan = planned(args, &program, &made)?;
    if !args.dry_run && !plan.changes.is_empty() {
        let missing: Vec<PathBuf> =
            plan.changes.iter().flat_map(|change| files::missing_directories(&change.path)).collect();
        let installed = locked(&plan.changes).and_then(|_locks| {
            let plan = planned(args, &program, &made)?;
            files::apply(&plan.changes)?;
            Ok(plan)
        });
        if installed.is_err() {
            // Half an installation is none, and it leaves nothing behind.
            files::remove_directories(&missing);
        }
        plan = installed?;
    }
    let message = match (plan.changes.is_empty(), args.dry_run) {
        (true, _) => "everything is installed already",
        (false, true) => "nothing was touched",
        (false, false) => "installed; new sessions of the agents use writ",
    };
    plan.told.insert("message".to_owned(), json!(message));
    Ok(show::answer(output, plan.told, &plan.changes, args.dry_run))
}

/// One lock for each directory, in one order, so that two installations never wait for each other.
fn locked(changes: &[FileChange]) -> Result<Vec<Lock>> {
    let mut directories: Vec<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    directories.sort_unstable();
    directories.dedup();
    for change in changes {
        files::make_directories(&change.path)?;
    }
    directories.into_iter().map(files::lock).collect()
}

fn planned(args: &Args, program: &Program, made: &Made) -> Result<Plan> {
    let mut plan = Plan::default();
    if args.claude() {
        claude(args, program, &made.claude, &mut plan)?;
    }
    if args.opencode() {
        opencode(args, program, &made.opencode, &mut plan)?;
    }
    Ok(plan)
}

fn claude(args: &Args, program: &Program, made: &[String], plan: &mut Plan) -> Result<()> {
    let named = places::claude_settings(args.scope())?;
    let path = files::real(&named)?;
    let before = files::read(&path)?;
    let record = show::record(&path)?;
    let name = path.display().to_string();
    let refused = |reason: String| {
        Error::new(ErrorCode::InvalidInput, format!("{name} {reason}"))
            .hint("mend the file first; nothing was written")
            .details(json!({"path": name}))
    };
    let found = claude::install(&name, before.as_deref(), record.as_ref(), program).map_err(refused)?;
    let mut told = json!({
        "path": named.display().to_string(),
        "installed": show::names(&found.installed),
        "skipped": show::names(&found.skipped),
    });
    if !found.updated.is_empty() {
        told["updated"] = show::names(&found.updated);
    }
    plan.told.insert("claude".to_owned(), told);
    if let Some((text, mut record)) = found.change {
        if !made.is_empty() {
            record.directories = made.to_vec();
        }
        // What leads back is written first: after a crash in between it fits nothing and is not believed.
        plan.changes.extend(record_change(&record, &path));
        plan.changes.push(FileChange { path, before, after: Some(text) });
    }
    Ok(())
}

fn record_change(record: &impl Serialize, of: &Path) -> Option<FileChange> {
    let path = places::record(of)?;
    let text = serde_json::to_string(record).ok()? + "\n";
    Some(FileChange { before: files::read(&path).ok().flatten(), path, after: Some(text) })
}

fn opencode(args: &Args, program: &Program, made: &[String], plan: &mut Plan) -> Result<()> {
    let named = places::opencode_plugin(args.scope())?;
    let path: PathBuf = files::real(&named)?;
    let before = files::read(&path)?;
    let after = opencode::plugin(program);
    let status = match opencode::find(before.as_deref()) {
        Found::Nothing => "installed",
        Found::Ours if before.as_deref() == Some(after.as_str()) => "skipped",
        Found::Ours => "updated",
        Found::Changed | Found::Foreign => {
            let message = format!("{} is not as writ wrote it", path.display());
            return Err(Error::new(ErrorCode::AlreadyExists, message)
                .hint("move it away, or remove it with `hook uninstall --opencode --force`; nothing was written")
                .details(json!({"path": path.display().to_string()})));
        }
    };
    plan.told.insert("opencode".to_owned(), json!({"path": named.display().to_string(), "status": status}));
    if status != "skipped" {
        if !made.is_empty() {
            let record = show::Directories { path: path.display().to_string(), directories: made.to_vec() };
            plan.changes.extend(record_change(&record, &path));
        }
        plan.changes.push(FileChange { path, before, after: Some(after) });
    }
    Ok(())
}
