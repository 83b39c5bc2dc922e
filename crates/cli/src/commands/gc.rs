//! `writ gc`

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::time::Timestamp;
use ops::Result;
use ops::gc::all::{Gc, Preview, Request};
use ops::gc::{Answer, RetainedStream};

use super::snapshots::collected;
use crate::app::Globals;
use crate::output::{Output, say};
use crate::{config, host};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ gc --dry-run\n  writ gc")]
pub(crate) struct Args {
    /// Show what would be deleted, but change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { retention: config::load(&host::absolute(".".into()))?.retention };
    let cutoff = ops::gc::files_cutoff(&mut host::open_existing(globals)?, &request.retention)?;
    let answer = if args.dry_run {
        host::call_existing::<Preview>(globals, &request)?
    } else {
        host::call_existing::<Gc>(globals, &request)?
    };
    let files = old_files(globals, cutoff)?;
    if !args.dry_run {
        for file in &files {
            // Another gc may have removed it.
            fs::remove_file(file).ok();
        }
    }
    if !files.is_empty() {
        let would = if args.dry_run { "would be " } else { "" };
        say(&format!("{} old logs of children and looks at workspaces {would}removed\n", files.len()));
    }
    let snapshots =
        || answer.snapshots.as_ref().map(|done| collected(done, args.dry_run)).unwrap_or_default();
    Ok(output.answer(&answer, || text(&answer.done, args.dry_run) + &snapshots()))
}

/// Logs of children and looks at workspaces that nothing wrote since the cutoff. A look that a task is compared with when it
/// ends is kept: the index bounds their number.
fn old_files(globals: &Globals, cutoff: Timestamp) -> Result<Vec<PathBuf>> {
    let directories = [(host::logs_directory(globals)?, "log"), (host::index_directory(globals)?, "idx")];
    let mut old = Vec::new();
    for (directory, ending) in directories {
        // Without the directory there is nothing to remove.
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_wanted = path.extension().is_some_and(|found| found == ending);
            let written = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file).map(|m| m.mtime());
            if is_wanted && written.is_some_and(|seconds| seconds.saturating_mul(1000) < cutoff.millis()) {
                old.push(path);
            }
        }
    }
    old.sort();
    Ok(old)
}

fn text(done: &Answer, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    let mut text = format!(
        "{} events {would}archived in {} summaries\n{}{} old events {would}removed\n{} expired memories \
         {would}removed\n{} stored answers for retries {would}removed\n",
        done.archived,
        done.summaries,
        // A preview sees one piece of each stream.
        if dry_run && done.next.is_some() { "at least " } else { "" },
        done.pruned,
        done.memories_removed,
        done.answers_forgotten
    );
    if done.waiting > 0 {
        let waiting = done.waiting;
        text.push_str(&format!(
            "{waiting} entries are old by this clock alone: kept until a later call confirms the time\n"
        ));
    }
    for RetainedStream { stream, by } in &done.held {
        text.push_str(&format!("kept: the rest of {stream}, which {by} still needs\n"));
    }
    if done.held_more > 0 {
        text.push_str(&format!("kept: {} more streams\n", done.held_more));
    }
    text
}
