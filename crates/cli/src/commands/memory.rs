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
use contract::domain::memory::Scope;
use ops::Result;
use ops::memory::{Name, Page};

use crate::app::Globals;
use crate::output::Output;
use crate::project;
use crate::word::Words;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Store a value under a key
    #[command(
        after_help = "Examples:\n  writ memory set --agent ann --request-id r1 --key style --value \"tabs, never spaces\"\n  writ memory set --agent ann --request-id r2 -k build -v \"make all\" --scope project --scope-id . --expires-in 7d"
    )]
    Set(set::Args),
    /// Show a memory
    #[command(
        after_help = "Examples:\n  writ memory get --key style\n  writ memory get --key build --scope project --scope-id ."
    )]
    Get(get::Args),
    /// List the memories of a scope, pinned first, then newest
    #[command(after_help = "Examples:\n  writ memory list\n  writ memory list --scope project --scope-id .")]
    List(list::Args),
    /// Delete a memory
    #[command(after_help = "Examples:\n  writ memory delete --agent ann --request-id r1 --key style")]
    Delete(delete::Args),
    /// Delete expired memories
    #[command(after_help = "Examples:\n  writ memory gc --agent ann --request-id r1")]
    Gc(gc::Args),
    /// Pin a memory so that it neither fades nor expires, or unpin it
    #[command(
        after_help = "Examples:\n  writ memory pin --agent ann --request-id r1 --key style\n  writ memory pin --agent ann --request-id r2 --key style --unpin"
    )]
    Pin(pin::Args),
    /// Search the memories of all scopes by words
    #[command(
        after_help = "Examples:\n  writ memory search tabs\n  writ memory search --query \"build make\" --limit 5"
    )]
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
    /// Which memories
    #[arg(short, long, default_value = "global", value_parser = Words::of(Scope::WORDS))]
    scope: String,
    /// The project, task or agent of the scope [default for projects: the project of this directory]
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
}

impl PlaceArgs {
    fn scope(&self) -> Result<Scope> {
        Ok(Scope::named(&self.scope)?)
    }

    /// A project may be named by the directory it is in.
    fn id(&self) -> Option<String> {
        match self.scope.as_str() {
            "project" => project::named_or_here(self.scope_id.as_deref()),
            _ => self.scope_id.clone(),
        }
    }
}

// Which memory.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// The key of the memory
    #[arg(short, long, allow_hyphen_values = true)]
    key: String,
    #[command(flatten)]
    place: PlaceArgs,
}

impl NameArgs {
    fn name(&self) -> Result<Name> {
        Ok(Name { key: self.key.clone(), scope: self.place.scope()?, scope_id: self.place.id() })
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
        [] => "no memories\n".to_owned(),
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
