//! Every verb of the product, in one list that all doors read.

use crate::verb::Entry;
use crate::{result, task};

pub const VERBS: &[Entry] = &[
    // Continuity: the agent contract.
    Entry::of::<task::create::Create>(),
    Entry::of::<task::list::List>(),
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
    VERBS.iter().find(|verb| verb.command == command)
}

#[cfg(test)]
mod tests;
