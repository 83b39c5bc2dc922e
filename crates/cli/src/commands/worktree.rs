//! `writ worktree`

use std::process::ExitCode;

use contract::domain::worktree::{Standing, part_name};
use ops::Result;
use ops::host::WorktreeLeftover;
use ops::worktree::discard::{self, Discard};
use ops::worktree::gc::{self, Gc, Preview};
use ops::worktree::list::{self, List, WorktreeRow};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the clones in which tasks work
    #[command(after_help = "Examples:\n  writ worktree list")]
    List,
    /// Remove clones whose work is merged
    #[command(
        after_help = "A clone is removed if its task has ended and everything in it is in the workspace's current branch, or if nothing was
changed in it. Ignored files in it go with it. Work that is not merged is never removed.

Examples:
  writ worktree gc --dry-run
  writ worktree gc"
    )]
    Gc {
        /// Show what would be removed, but change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a clone together with work that is not merged
    #[command(
        after_help = "If the clone has work that is not merged, a person confirms it at a terminal, or a token decides. Commits and changed files
are kept in a git bundle, and the answer says how to get them back. Ignored files are lost.

Examples:
  writ worktree discard parser --dry-run
  writ worktree discard parser"
    )]
    Discard {
        /// The task: an id, a unique prefix of it, its id in a plan, or RUN/TASK
        task: String,
        /// Show what would be lost, but change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List => {
            let answer = host::call_existing::<List>(globals, &list::Request {})?;
            Ok(output.answer(&answer, || listed(&answer)))
        }
        Command::Gc { dry_run } => {
            let request = gc::Request {};
            let answer = if *dry_run {
                host::call_existing::<Preview>(globals, &request)?
            } else {
                host::call_existing::<Gc>(globals, &request)?
            };
            Ok(output.answer(&answer, || collected(&answer)))
        }
        Command::Discard { task, dry_run } => {
            let request = discard::Request { task: task.clone() };
            let answer = if *dry_run {
                host::call_existing::<discard::Preview>(globals, &request)?
            } else {
                host::call_existing::<Discard>(globals, &request)?
            };
            Ok(output.answer(&answer, || discarded(&answer)))
        }
    }
}

fn discarded(answer: &discard::Answer) -> String {
    let record = &answer.worktree;
    let (run, name) = (&record.run_id, one_line(&record.name));
    if answer.dry_run {
        let lost = if answer.standing.may_have_work() {
            answer.loss.told().lines().map(|line| format!("{}\n", one_line(line))).collect()
        } else {
            "nothing but ignored files would be lost\n".to_owned()
        };
        return format!("{lost}would be discarded: {run}  {name}\n");
    }
    let mut text = format!("discarded: {run}  {name}\n");
    if let Some(bundle) = &answer.bundle {
        let branch = format!("discarded:writ/{}", part_name(&record.name));
        let words = ["git", "-C", &record.workspace, "fetch", bundle, &branch];
        let line = shlex::try_join(words).unwrap_or_default();
        text.push_str(&format!("hint: `{}` brings its work back as a branch\n", one_line(&line)));
    }
    text
}

fn listed(answer: &list::Answer) -> String {
    if answer.worktrees.is_empty() && answer.leftovers.is_empty() {
        return "no clones are kept\n".to_owned();
    }
    answer.worktrees.iter().map(line).chain(answer.leftovers.iter().map(left)).collect()
}

fn left(leftover: &WorktreeLeftover) -> String {
    format!("not a clone: {}\n  {}\n", one_line(&leftover.reason), one_line(&leftover.directory))
}

fn line(row: &WorktreeRow) -> String {
    let record = &row.worktree;
    let standing = match &row.standing {
        Standing::Empty => "empty".to_owned(),
        Standing::Merged => "merged".to_owned(),
        Standing::Unmerged { .. } => "not merged".to_owned(),
        Standing::Unknown { reason } => format!("not compared: {}", one_line(reason)),
    };
    let task = row.task_status.map_or_else(|| "not in this store".to_owned(), |status| status.to_string());
    let ports = record.ports.map(|ports| format!("  ports {}-{}", ports.first, ports.last));
    format!(
        "{}  {}  {task}, {standing}{}\n  {}\n",
        record.run_id,
        one_line(&record.name),
        ports.unwrap_or_default(),
        one_line(&row.directory)
    )
}

fn collected(answer: &gc::Answer) -> String {
    let done = if answer.dry_run { "would be removed" } else { "removed" };
    let mut text = String::new();
    for row in &answer.removed {
        text.push_str(&format!("{done}: {}  {}\n", row.worktree.run_id, one_line(&row.worktree.name)));
    }
    for row in &answer.kept {
        let reason = row.kept_because.as_deref().unwrap_or_default();
        let (run, name) = (&row.worktree.run_id, one_line(&row.worktree.name));
        text.push_str(&format!("kept: {run}  {name}: {}\n", one_line(reason)));
    }
    text.extend(answer.leftovers.iter().map(left));
    if !answer.kept.is_empty() {
        text.push_str(
            "hint: `writ worktree discard TASK` removes a clone together with work that is not merged\n",
        );
    }
    text.push_str(&format!(
        "{} of {} clones {done}\n",
        answer.removed.len(),
        answer.removed.len() + answer.kept.len()
    ));
    text
}
