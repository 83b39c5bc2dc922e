//! Every verb of the product, in one list that all doors read.

use crate::verb::Entry;
use crate::{agent, artifact, event, memory, push, result, resume, status, task};

pub const VERBS: &[Entry] = &[
    // Continuity: the agent contract.
    Entry::of::<resume::Resume>(),
    Entry::of::<resume::peek::Peek>(),
    Entry::of::<push::Push>(),
    Entry::of::<task::create::Create>(),
    Entry::of::<task::begin::Begin>(),
    Entry::of::<task::get::Get>(),
    Entry::of::<task::list::List>(),
    Entry::of::<task::ready::Ready>(),
    Entry::of::<task::set_status::SetStatus>(),
    Entry::of::<task::complete::Complete>(),
    Entry::of::<task::set_priority::SetPriority>(),
    Entry::of::<task::add_dependency::AddDependency>(),
    Entry::of::<task::remove_dependency::RemoveDependency>(),
    Entry::of::<task::delete::Delete>(),
    Entry::of::<memory::set::Set>(),
    Entry::of::<memory::get::Get>(),
    Entry::of::<memory::list::List>(),
    Entry::of::<memory::search::Search>(),
    Entry::of::<memory::pin::Pin>(),
    Entry::of::<memory::delete::Delete>(),
    Entry::of::<memory::gc::Gc>(),
    Entry::of::<artifact::list::List>(),
    Entry::of::<event::list::List>(),
    Entry::of::<event::note::Note>(),
    Entry::of::<agent::Leave>(),
    Entry::of::<status::Show>(),
    // Crew: the operator contracts.
    Entry::of::<result::submit::Submit>(),
    // Runs.
    // The store.
    // Documents.
];

/// The verb with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// The verb behind a command, without the program's name: `task create`.
pub fn of_command(command: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| !command.is_empty() && verb.command == command)
}

#[cfg(test)]
mod tests;
