//! What a command is: a verb of the registry, or a local command, which declares the same about itself.

use ops::registry;
use ops::verb::{Effect, Surface};

use crate::commands;
use crate::persona::{self, Persona};

/// A command that is not a verb: it works on this machine, not on the store.
pub(crate) struct LocalCommand {
    /// What a person types after the program's name.
    pub(crate) command: &'static str,
    pub(crate) surface: Surface,
    /// Whether it changes something, on the disk or in the store.
    pub(crate) mutates: bool,
}

impl LocalCommand {
    pub(crate) const fn reads(command: &'static str, surface: Surface) -> Self {
        Self { command, surface, mutates: false }
    }

    pub(crate) const fn changes(command: &'static str, surface: Surface) -> Self {
        Self { command, surface, mutates: true }
    }
}

/// The surface of a command, or of the group of commands that begin with these words.
pub(crate) fn surface(path: &str) -> Surface {
    let declared = exact(path).or_else(|| group(path));
    match (persona::current(), declared) {
        (_, Some(Surface::Handler)) => Surface::Handler,
        // Under its own name the agent contract holds for everything.
        (Persona::Vybe, _) => Surface::Continuity,
        (Persona::Writ | Persona::Ol | Persona::Ao, declared) => declared.unwrap_or(Surface::Writ),
    }
}

/// Whether the agent contract has a command or a group of this name.
pub(crate) fn is_continuity(name: &str) -> bool {
    exact(name).or_else(|| group(name)) == Some(Surface::Continuity)
}

pub(crate) fn mutates(path: &str) -> bool {
    match registry::of_command(path) {
        Some(verb) => verb.effect.mutates(),
        None => local(path).is_some_and(|local| local.mutates),
    }
}

/// Whether a caller has to give a request id. Outside the agent contract one is made where none is given.
pub(crate) fn requires_request_id(path: &str) -> bool {
    registry::of_command(path)
        .is_some_and(|verb| verb.effect == Effect::Once && verb.surface == Surface::Continuity)
}

pub(crate) fn local(path: &str) -> Option<&'static LocalCommand> {
    commands::LOCAL.iter().copied().flatten().find(|local| local.command == path)
}

/// The surface of a command; `None` for a group of commands.
pub(crate) fn declared(path: &str) -> Option<Surface> {
    exact(path)
}

fn exact(path: &str) -> Option<Surface> {
    registry::of_command(path).map(|verb| verb.surface).or_else(|| local(path).map(|local| local.surface))
}

/// The surface of a group is that of its commands; the agent contract's, where some of them are its own.
fn group(path: &str) -> Option<Surface> {
    if path.is_empty() {
        return None;
    }
    let inside = |command: &str| command.strip_prefix(path).is_some_and(|rest| rest.starts_with(' '));
    let verbs = registry::VERBS.iter().map(|verb| (verb.command, verb.surface));
    let locals = commands::LOCAL.iter().copied().flatten().map(|local| (local.command, local.surface));
    let found: Vec<Surface> = verbs
        .chain(locals)
        .filter(|(command, surface)| inside(command) && *surface != Surface::Handler)
        .map(|(_, surface)| surface)
        .collect();
    found.iter().find(|surface| **surface == Surface::Continuity).or(found.first()).copied()
}
