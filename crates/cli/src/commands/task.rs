//! The agent contract's task verbs.

mod begin;
mod complete;
mod create;
mod get;
mod list;
mod set_status;

use std::process::ExitCode;

use contract::domain::task::Task;
use ops::Result;

use crate::app::Globals;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a task
    Create(create::Args),
    /// Take a task and start it
    Begin(begin::Args),
    /// Show a task
    Get(get::Args),
    /// List tasks
    List(list::Args),
    /// Bring a task into another state
    SetStatus(set_status::Args),
    /// Close a task as done or blocked
    Complete(complete::Args),
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Create(args) => create::run(args, globals, output),
        Command::Begin(args) => begin::run(args, globals, output),
        Command::Get(args) => get::run(args, globals, output),
        Command::List(args) => list::run(args, globals, output),
        Command::SetStatus(args) => set_status::run(args, globals, output),
        Command::Complete(args) => complete::run(args, globals, output),
    }
}

/// One line for people.
pub(crate) fn line(task: &Task) -> String {
    let state = match task.evidence {
        Some(evidence) => format!("{} ({})", task.status, evidence.as_str()),
        None => task.status.to_string(),
    };
    format!("{}  {state:<16}  {:>3}  {}", task.id, task.priority, task.title)
}
