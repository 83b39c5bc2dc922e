//! What the processes of a task may do and see, as far as a plan can say it.

use crate::domain::network::HostRule;
use crate::shape::words;

/// Under this name an attempt's outcome says whether its processes had a namespace.
pub const NAMESPACE: &str = "namespace";

words! {
    /// Whether the processes of a task live in a pid namespace of their own.
    #[derive(Default)]
    Namespace {
        /// Where the system allows it.
        #[default]
        On = "on",
        Off = "off",
    }
}

impl Namespace {
    pub fn is_on(&self) -> bool {
        *self == Namespace::On
    }
}

/// Under these names an attempt's outcome says what of the sandbox was in force: `on`, `off: …` or `refused: …`.
pub const SANDBOX: &str = "sandbox";

words! {
    /// How strictly the processes of a task are kept to what it may write and reach.
    #[derive(Default)]
    SandboxMode {
        /// Not at all.
        Off = "off",
        /// As far as the system can; the rest is reported.
        #[default]
        Prefer = "prefer",
        /// Completely, or the task is refused before it starts.
        Enforce = "enforce",
    }
}

words! {
    /// What a task may reach over the network.
    #[derive(Default)]
    NetworkUse {
        /// Nothing, not even this machine.
        None = "none",
        /// Only what an allow-list names.
        Restricted = "restricted",
        /// Everything.
        #[default]
        Full = "full",
    }
}

words! {
    /// What a task may do with the git repository of its workspace.
    #[derive(Default)]
    GitUse {
        /// Read its history.
        #[default]
        Read = "read",
        /// Commit as well. Hooks and configuration stay read-only.
        Commit = "commit",
    }
}

/// What a program in a sandbox can pass on to a run that it starts: never more than it has itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceiling {
    /// The absolute path of the directory it works in.
    pub workspace: String,
    /// Absolute paths, without links, that it may write. `None`: its writing is not confined.
    pub writes: Option<Vec<String>>,
    pub mode: SandboxMode,
    pub network: NetworkUse,
    /// The hosts that it can reach where the network is restricted.
    pub network_allow: Vec<HostRule>,
    pub git: GitUse,
}

impl SandboxMode {
    /// The mode that holds: what the configuration demands and what the plan asks for, whichever is stricter.
    pub fn effective(configured: Option<SandboxMode>, asked: Option<SandboxMode>) -> SandboxMode {
        configured.max(asked).unwrap_or_default()
    }
}

impl NetworkUse {
    pub fn is_full(&self) -> bool {
        *self == NetworkUse::Full
    }
}

impl GitUse {
    pub fn is_read(&self) -> bool {
        *self == GitUse::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_of_configuration_and_plan_holds() {
        use SandboxMode::{Enforce, Off, Prefer};
        let cases = [
            (None, None, Prefer),
            (None, Some(Prefer), Prefer),
            (Some(Prefer), None, Prefer),
            (Some(Prefer), Some(Off), Prefer),
            (Some(Off), Some(Enforce), Enforce),
            (Some(Enforce), Some(Prefer), Enforce),
        ];
        for (configured, asked, expected) in cases {
            assert_eq!(SandboxMode::effective(configured, asked), expected, "{configured:?} {asked:?}");
        }
    }
}
