//! The agent contract's memory verbs.

mod delete;
mod gc;
mod get;
mod list;
mod pin;
mod search;
mod set;

use std::process::ExitCode;

use contract::continuity::MemoryView;
use ops::Result;
use ops::memory::{Name, Page};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Remember a value under a key
    Set(set::Args),
    /// Show a memory
    Get(get::Args),
    /// List the memories of a scope: pinned first, then newest
    List(list::Args),
    /// Forget a memory
    Delete(delete::Args),
    /// Remove memories whose time is over
    Gc(gc::Args),
    /// Pin a memory, so that it neither fades nor expires
    Pin(pin::Args),
    /// Find memories by their words, in any scope
    Search(search::Args),
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Set(args) => set::run(args, globals, output),
        Command::Get(args) => get::run(args, globals, output),
        Command::List(args) => list::run(args, globals, output),
        Command::Delete(args) => delete::run(args, globals, output),
        Command::Gc(args) => gc::run(args, globals, output),
        Command::Pin(args) => pin::run(args, globals, output),
        Command::Search(args) => search::run(args, globals, output),
    }
}

// Whose memory. The parser would show a doc comment here as what each command does.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// global, project, task or agent
    #[arg(short, long, default_value = "global")]
    scope: String,
    /// The project, task or agent
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
}

impl PlaceArgs {
    /// A project may be named by the directory it is in.
    fn id(&self) -> Option<String> {
        let is_project = self.scope == "project";
        self.scope_id.as_deref().map(|id| if is_project { host::workspace(id) } else { id.to_owned() })
    }
}

// Which memory.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// The name of the memory
    #[arg(short, long, allow_hyphen_values = true)]
    key: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl NameArgs {
    fn name(&self) -> Name {
        Name { key: self.key.clone(), scope: self.place.scope.clone(), scope_id: self.place.id() }
    }
}

/// A line each, for people.
fn lines(page: &Page) -> String {
    let line = |memory: &MemoryView| {
        let place = [memory.scope.as_str(), &memory.scope_id].join(" ");
        let pin = if memory.pinned { "*" } else { " " };
        format!(
            "{pin} {:<24}  {:<9}  {}  {}\n",
            place.trim_end(),
            memory.kind,
            crate::output::one_line(&memory.key),
            beginning(&memory.value)
        )
    };
    match page.memories.as_slice() {
        [] => "nothing is remembered\n".to_owned(),
        memories => {
            let more = if page.more { "there are more; --limit shows them\n" } else { "" };
            memories.iter().map(line).collect::<String>() + more
        }
    }
}

/// The beginning of a value, on one line.
fn beginning(value: &str) -> String {
    const SHOWN: usize = 80;
    let mut line: String = value.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if value.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}
