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
use ops::Result;

use crate::app::Globals;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
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
    /// Move a task forward or back in the queue
    SetPriority(set_priority::Args),
    /// Make a task wait for another
    AddDep(add_dep::Args),
    /// Let a task no longer wait for another
    RemoveDep(remove_dep::Args),
    /// Delete a task and what belongs to it
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

/// One line for people.
pub(crate) fn line(task: &TaskView) -> String {
    let state = match &task.evidence {
        Some(evidence) => format!("{} ({evidence})", task.state()),
        None => task.state().to_string(),
    };
    format!("{}  {state:<16}  {:>3}  {}", task.id, task.priority, one_line(&task.title))
}
