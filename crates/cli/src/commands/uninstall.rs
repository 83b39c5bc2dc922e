//! `writ uninstall`: removes what writ installed on this machine, and the store only when asked to.

mod found;
mod purge;

use std::path::PathBuf;
use std::process::ExitCode;

use ops::Result;
use ops::verb::Surface;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::app::Globals;
use crate::commands::hook::everywhere;
use crate::local::LocalCommand;
use crate::output::Output;
use crate::{commands, host};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("uninstall", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Remove what writ installed on this machine\n\nThat is: hooks in the settings of agent programs, links under other names, and \
                  completion scripts. A settings file that nobody changed since gets its old bytes back; from any \
                  other one only writ's own entries are removed. The store stays, unless --purge is given. The \
                  program itself stays too; the answer says where it is.",
    after_help = "Examples:\n  writ uninstall --dry-run\n  writ uninstall --project\n  writ uninstall --purge --yes"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Also remove what is installed in the project in the current directory
    #[arg(long)]
    project: bool,
    /// Also remove a plugin file that was changed after the installation
    #[arg(long)]
    force: bool,
    /// Also delete the store, its backups and the output of all tasks
    #[arg(long)]
    purge: bool,
    /// Delete the store without asking
    #[arg(long, requires = "purge")]
    yes: bool,
    /// Show every change to every file, but change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    dry_run: bool,
    /// What was found of each agent program's hooks, in the user's settings and in the project's.
    hooks: Map<String, Value>,
    /// Every file that is changed or removed.
    files: Vec<Value>,
    /// What stays, and why.
    kept: Vec<KeptFiles>,
    store: StoreAnswer,
    /// Where the program is. It does not remove itself.
    program: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct KeptFiles {
    path: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct StoreAnswer {
    path: String,
    removed: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = commands::hook::program(globals)?;
    let store = host::absolute(host::store_path(globals)?);
    // Everything that can be refused is refused before anything is changed.
    let mut hooks = everywhere::planned(args.project, args.force, &program)?;
    let other = found::of(&PathBuf::from(&program.path), args.project)?;
    let purged = if args.purge { purge::planned(globals, &store)? } else { Vec::new() };
    if !args.dry_run {
        if !purged.is_empty() && !args.yes {
            purge::confirm(&store)?;
        }
        hooks = everywhere::carry_out(hooks, args.force, &program)?;
        found::remove(&other.remove)?;
        purge::remove(&purged)?;
        found::remove_empty_directories();
    }
    let mut files: Vec<Value> = hooks.described();
    files.extend(other.remove.iter().chain(&purged).map(|path| found::described(path)));
    let mut kept = other.kept;
    kept.extend(hooks.elsewhere().into_iter().map(|path| KeptFiles {
        path: path.display().to_string(),
        reason: "it belongs to another project; run `writ uninstall --project` there".to_owned(),
    }));
    let answer = Answer {
        dry_run: args.dry_run,
        hooks: hooks.answers(),
        files,
        kept,
        store: StoreAnswer { path: store.display().to_string(), removed: !purged.is_empty() },
        program: program.path,
    };
    let changes = hooks.text(args.dry_run);
    let removed: Vec<&PathBuf> = other.remove.iter().chain(&purged).collect();
    Ok(output.answer(&answer, || text(&answer, &changes, &removed, store.exists())))
}

fn text(answer: &Answer, changes: &str, removed: &[&PathBuf], store_exists: bool) -> String {
    let verb = if answer.dry_run { "would remove" } else { "removed" };
    let mut text = changes.to_owned();
    text.extend(removed.iter().map(|path| format!("{verb} {}\n", path.display())));
    if text.is_empty() {
        text.push_str("nothing to remove\n");
    }
    for KeptFiles { path, reason } in &answer.kept {
        text.push_str(&format!("kept {path}: {reason}\n"));
    }
    if store_exists && !answer.store.removed {
        text.push_str(&format!("kept the store {}: --purge deletes it\n", answer.store.path));
    }
    text.push_str(&format!("kept the program {}: `cargo uninstall cli` removes it\n", answer.program));
    text
}
