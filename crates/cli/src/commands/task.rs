//! The agent contract's task verbs.

mod add_dep;
mod begin;
mod complete;
mod create;
mod delete;
mod get;
mod list;
mod remove_dep;
mod set_priority;
mod set_status;

use std::process::ExitCode;

use contract::continuity::TaskView;
use contract::domain::status::Status;
use ops::Result;

use crate::app::Globals;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Create a task
    #[command(
        after_help = "Examples:\n  writ task create --agent ann --request-id r1 --title \"Write the parser\"\n  writ task create --agent ann --request-id r2 --title Docs --project-id . --priority 5\n  writ task create --agent ann --request-id r3 --title Fix --project-id . --check \"cargo test\" --check-shell \"cargo fmt --check && cargo clippy\""
    )]
    Create(create::Args),
    /// Claim a task and start it
    #[command(after_help = "Examples:\n  writ task begin --agent ann --request-id r1 --id task_01")]
    Begin(begin::Args),
    /// Show a task
    #[command(after_help = "Examples:\n  writ task get --id task_01")]
    Get(get::Args),
    /// List tasks, highest priority first
    #[command(after_help = "Examples:\n  writ task list\n  writ task list --status blocked --project-id .")]
    List(list::Args),
    /// Move a task to another state
    #[command(
        after_help = "Examples:\n  writ task set-status --agent ann --request-id r1 --id task_01 --status blocked --blocked-reason \"needs a key\""
    )]
    SetStatus(set_status::Args),
    /// Close a task as done or blocked; done only after its checks passed
    #[command(
        after_help = "Examples:\n  writ task complete --agent ann --request-id r1 --id task_01 --outcome done --summary \"Parser written\"\n  writ task complete --agent ann --request-id r2 --id task_01 --outcome blocked --summary \"No access\""
    )]
    Complete(complete::Args),
    /// Change a task's priority
    #[command(
        after_help = "Examples:\n  writ task set-priority --agent ann --request-id r1 --id task_01 --priority 10"
    )]
    SetPriority(set_priority::Args),
    /// Make a task depend on another
    #[command(
        after_help = "Examples:\n  writ task add-dep --agent ann --request-id r1 --id task_02 --depends-on task_01"
    )]
    AddDep(add_dep::Args),
    /// Remove a dependency between two tasks
    #[command(
        after_help = "Examples:\n  writ task remove-dep --agent ann --request-id r1 --id task_02 --depends-on task_01"
    )]
    RemoveDep(remove_dep::Args),
    /// Delete a task and everything attached to it
    #[command(after_help = "Examples:\n  writ task delete --agent ann --request-id r1 --id task_01")]
    Delete(delete::Args),
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Create(args) => create::run(args, globals, output),
        Command::Begin(args) => begin::run(args, globals, output),
        Command::Get(args) => get::run(args, globals, output),
        Command::List(args) => list::run(args, globals, output),
        Command::SetStatus(args) => set_status::run(args, globals, output),
        Command::Complete(args) => complete::run(args, globals, output),
        Command::SetPriority(args) => set_priority::run(args, globals, output),
        Command::AddDep(args) => add_dep::run(args, globals, output),
        Command::RemoveDep(args) => remove_dep::run(args, globals, output),
        Command::Delete(args) => delete::run(args, globals, output),
    }
}

/// One line for people, in the contract's words.
pub(crate) fn line(task: &TaskView) -> String {
    let more = match task.state() {
        Status::Failed => Some("failed".to_owned()),
        Status::Canceled => Some("canceled".to_owned()),
        Status::Todo | Status::InProgress | Status::Blocked | Status::Done => task.evidence.clone(),
    };
    let state = more.map_or_else(|| task.status.clone(), |more| format!("{} ({more})", task.status));
    format!("{}  {state:<16}  {:>3}  {}", task.id, task.priority, one_line(&task.title))
}
