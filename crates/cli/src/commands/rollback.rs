//! `writ rollback`

use std::process::ExitCode;

use contract::domain::rollback::{Direction, FileResult, FileStatus};
use ops::Result;
use ops::rollback::preview::{self, Preview};
use ops::rollback::undo::{self, Request, Undo};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Take back what a task changed\n\n\
                  Every path in the task's `writes` gets what it was before the task began: files, modes, links and \
                  directories; what the task created is removed. A path that somebody changed after the task ended is a \
                  conflict: it is listed and stays as it is. What is taken back is kept, and --redo reapplies it. A \
                  rollback that was interrupted is finished by repeating the command.",
    after_help = "Exit codes: 0 everything is taken back, 1 something was left as it is.

Examples:
  writ rollback parser --preview
  writ rollback parser
  writ rollback parser --redo"
)]
pub(crate) struct Args {
    /// The task: an id, a unique prefix of it, its id in a plan, or its T-n
    task: String,
    /// List what would be done to each file, but change nothing
    #[arg(long)]
    preview: bool,
    /// Reapply what the last rollback took back
    #[arg(long)]
    redo: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { task: args.task.clone(), redo: args.redo };
    if args.preview {
        let answer = host::call_existing::<Preview>(globals, &request)?;
        return Ok(output.answer(&answer, || planned(&answer)));
    }
    let answer = host::call_existing::<Undo>(globals, &request)?;
    let printed = output.answer(&answer, || done(&answer));
    Ok(if answer.code.is_none() { printed } else { ExitCode::FAILURE })
}

fn planned(answer: &preview::Answer) -> String {
    let mut text = lines(&answer.files, answer.files_not_listed);
    let of = |status| answer.files.iter().filter(|file| file.status == status).count();
    let (planned, conflicts, failed) =
        (of(FileStatus::Planned), of(FileStatus::Conflict), of(FileStatus::Failed));
    let what = match answer.direction {
        Direction::Undo => "a rollback",
        Direction::Redo => "a redo",
    };
    text.push_str(&format!("{what} of {} would change {}", one_line(&answer.name), paths(planned as u64)));
    text.push_str(&left(conflicts as u64, failed as u64));
    text
}

fn done(answer: &undo::Answer) -> String {
    let mut text = lines(&answer.files, answer.files_not_listed);
    let what = match answer.direction {
        Direction::Undo => ("rolled back", "restored"),
        Direction::Redo => ("redone", "reapplied"),
    };
    let (counts, (what, done)) = (answer.counts, what);
    text.push_str(&format!("{what} {}: {} {done}", one_line(&answer.name), paths(counts.done)));
    text.push_str(&left(counts.conflicts, counts.failed));
    if counts.conflicts > 0 {
        text.push_str(
            "hint: a path in conflict has changes of somebody else; compare it and change it by hand\n",
        );
    }
    if answer.keeps_commits {
        text.push_str("note: the task could commit (`git = \"commit\"`); commits stay, see `git log`\n");
    }
    text
}

fn paths(count: u64) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

fn left(conflicts: u64, failed: u64) -> String {
    match (conflicts, failed) {
        (0, 0) => "\n".to_owned(),
        (1, 0) => "; 1 conflict, left as is\n".to_owned(),
        (_, 0) => format!("; {conflicts} conflicts, left as is\n"),
        (0, _) => format!("; {failed} failed\n"),
        (1, _) => format!("; 1 conflict, left as is; {failed} failed\n"),
        (_, _) => format!("; {conflicts} conflicts, left as is; {failed} failed\n"),
    }
}

fn lines(files: &[FileResult], not_listed: u64) -> String {
    let line = |file: &FileResult| {
        let status = match file.status {
            FileStatus::Planned | FileStatus::Done => file.action.as_str(),
            FileStatus::Unchanged => "unchanged",
            FileStatus::Conflict => "conflict",
            FileStatus::Failed => "failed",
        };
        let reason =
            file.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        format!("  {status:<9} {}{reason}\n", one_line(&file.path))
    };
    let mut text: String = files.iter().map(line).collect();
    if not_listed > 0 {
        text.push_str(&format!("  and {not_listed} more\n"));
    }
    text
}
