//! `writ snapshots`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::scope::Scope;
use contract::domain::text::counted;
use ops::host::{Collected, KeptSnapshot};
use ops::snapshots::gc::{self, Gc, Preview};
use ops::snapshots::list::{self, List};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the snapshots that are kept for rollbacks
    #[command(after_help = "Examples:\n  writ snapshots list\n  writ snapshots list --limit 200")]
    List {
        /// How many, newest first
        #[arg(long, value_name = "N")]
        limit: Option<i64>,
    },
    /// Remove snapshots that are old or take too much space
    #[command(
        after_help = "Snapshots of tasks that have not ended stay, and so do those of a rollback that has not. Others go after 14 days,
and the oldest first when all together take more than 16 GiB.

Examples:
  writ snapshots gc --dry-run
  writ snapshots gc"
    )]
    Gc {
        /// Show what would be removed, but change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List { limit } => {
            let request = list::Request { limit: *limit };
            let answer = match host::call_existing::<List>(globals, &request) {
                // They are beside it, and can be read without it.
                Err(error) if is_unavailable(&error) => {
                    let kept = host::snapshots(globals).list().map_err(|_| error)?;
                    list::answer(kept, &request)?
                }
                answer => answer?,
            };
            Ok(output.answer(&answer, || listed(&answer)))
        }
        Command::Gc { dry_run } => {
            let request = gc::Request::default();
            let answer = if *dry_run {
                host::call_existing::<Preview>(globals, &request)?
            } else {
                match host::call_existing::<Gc>(globals, &request) {
                    // On a full disk the store cannot be opened, and nothing can be removed without it.
                    Err(error) if is_unavailable(&error) && host::snapshots(globals).release_reserve() => {
                        host::call_existing::<Gc>(globals, &request)?
                    }
                    answer => answer?,
                }
            };
            Ok(output.answer(&answer, || collected(&answer, *dry_run)))
        }
    }
}

fn is_unavailable(error: &Error) -> bool {
    error.code == ErrorCode::StoreUnavailable
}

fn listed(answer: &list::Answer) -> String {
    if answer.snapshots.is_empty() {
        return "no snapshots are kept\n".to_owned();
    }
    let line = |kept: &KeptSnapshot| {
        let scopes: Vec<&str> = kept.scopes.iter().map(Scope::as_str).collect();
        let left_out = kept.taken.not_taken.len() as u64 + kept.taken.not_taken_more;
        let left_out = if left_out > 0 { format!(", {left_out} not taken in") } else { String::new() };
        let end = if kept.has_end { "" } else { ", its end is not known" };
        format!(
            "{}  {}  {}: {} in {}{left_out}{end}\n",
            kept.at,
            kept.attempt_id,
            one_line(&kept.name),
            counted(usize::try_from(kept.taken.files).unwrap_or(usize::MAX), "file"),
            one_line(&scopes.join(", "))
        )
    };
    let mut text: String = answer.snapshots.iter().map(line).collect();
    let more = answer.count - answer.snapshots.len();
    if more > 0 {
        text.push_str(&format!("and {more} more; see --limit\n"));
    }
    text
}

pub(crate) fn collected(done: &Collected, dry_run: bool) -> String {
    let removed = if dry_run { "would remove" } else { "removed" };
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let held = if done.held > 0 { format!("; {} still in use", done.held) } else { String::new() };
    format!(
        "{removed} {} and {} ({} KiB of {} KiB){held}\n",
        counted(done.snapshots, "snapshot"),
        counted(done.contents, "object"),
        kib(done.before_bytes.saturating_sub(done.left_bytes)),
        kib(done.before_bytes)
    )
}
