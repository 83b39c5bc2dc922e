//! Under which name this program was called, and what follows from it.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::{env, local};

/// One binary, several command lines. Each has its own contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persona {
    /// Everything there is.
    Writ,
    /// The agent contract alone, under the name and with the variables that its scripts know.
    Vybe,
    /// The side of the bridge that runs quests.
    Ol,
    /// The side of the bridge that runs skills.
    Ao,
}

/// Names other than the program's own that have a command line.
pub(crate) const OTHERS: [Persona; 3] = [Persona::Vybe, Persona::Ol, Persona::Ao];

/// Decided once, by the first word of the command line.
static CURRENT: OnceLock<Persona> = OnceLock::new();

pub(crate) fn adopt(program: Option<&OsStr>) {
    let name = program.and_then(|path| Path::new(path).file_name());
    let is_called = |persona: &Persona| name == Some(OsStr::new(persona.name()));
    let persona = OTHERS.into_iter().find(is_called).unwrap_or(Persona::Writ);
    // Only the first call decides, and there is one.
    CURRENT.set(persona).ok();
}

pub(crate) fn current() -> Persona {
    CURRENT.get().copied().unwrap_or(Persona::Writ)
}

impl Persona {
    /// The name the program goes by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Persona::Writ => "writ",
            Persona::Vybe => "vybe",
            Persona::Ol => "ol",
            Persona::Ao => "ao",
        }
    }

    /// Whether this name has the top-level command.
    pub(crate) fn shows(self, command: &str) -> bool {
        match self {
            Persona::Writ => true,
            Persona::Vybe => local::is_continuity(command),
            Persona::Ol | Persona::Ao => command == "bridge",
        }
    }

    /// Whether this name has the top-level command, shown or hidden.
    pub(crate) fn has(self, command: &str) -> bool {
        self.shows(command) || (command == "import" && !self.is_bridge())
    }

    /// Whether this is one of the two sides of the bridge: bare documents, exit code 1 for every error.
    pub(crate) fn is_bridge(self) -> bool {
        matches!(self, Persona::Ol | Persona::Ao)
    }

    /// The variables that hold the store's file, the one of this name first.
    pub(crate) fn store_variables(self) -> [&'static str; 2] {
        match self {
            Persona::Writ | Persona::Ol | Persona::Ao => ["WRIT_DB", "VYBE_DB_PATH"],
            Persona::Vybe => ["VYBE_DB_PATH", "WRIT_DB"],
        }
    }

    pub(crate) fn agent_variables(self) -> [&'static str; 2] {
        match self {
            Persona::Writ | Persona::Ol | Persona::Ao => ["WRIT_AGENT", "VYBE_AGENT"],
            Persona::Vybe => ["VYBE_AGENT", "WRIT_AGENT"],
        }
    }

    pub(crate) fn request_variables(self) -> [&'static str; 2] {
        match self {
            Persona::Writ | Persona::Ol | Persona::Ao => ["WRIT_REQUEST_ID", "VYBE_REQUEST_ID"],
            Persona::Vybe => ["VYBE_REQUEST_ID", "WRIT_REQUEST_ID"],
        }
    }

    /// How long to wait for other writers, if that was said in a way that can be understood.
    pub(crate) fn busy_wait(self) -> Option<Duration> {
        let said = env::get("VYBE_BUSY_TIMEOUT_MS").filter(|_| self == Persona::Vybe)?;
        said.trim().parse().ok().map(Duration::from_millis)
    }

    /// Whether documents are printed on several lines.
    pub(crate) fn is_pretty(self) -> bool {
        let asked = || env::get("VYBE_PRETTY_JSON").is_some_and(|value| value == "1" || value == "true");
        self == Persona::Vybe && asked()
    }
}

/// The first of the variables that is set, with its name.
pub(crate) fn first_set(names: [&'static str; 2]) -> Option<(&'static str, String)> {
    names.into_iter().find_map(|name| Some((name, env::get(name)?)))
}
