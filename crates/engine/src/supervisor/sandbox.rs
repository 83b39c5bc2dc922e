//! The sandbox of one executor: what is asked for, and what the system gave.
//!
//! The shim lays it out inside the namespace, and the executor's process closes it around itself before its program
//! starts: mounts hide what must not be reached, Landlock keeps writes to their directories, seccomp refuses the calls
//! that lead around both.

use std::ffi::OsString;
use std::fmt;

use contract::domain::confinement::NetworkUse;
use serde::{Deserialize, Serialize};

use super::proxy::Reachable;

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod doors;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod syscalls;

#[cfg(target_os = "linux")]
pub(super) use self::{
    child::{Barrier, SandboxStep},
    doors::{ProxyDoors, SocketReceiver, pair},
    layout::lay_out,
    limits::LimitWatch,
    outside::harden,
    sockets::{bound_sockets, open_socket_list},
};
#[cfg(not(target_os = "linux"))]
mod nowhere;
#[cfg(not(target_os = "linux"))]
pub(super) use self::nowhere::{Barrier, ProxyDoors, Usage, bound_sockets, lay_out, open_socket_list};

/// What is asked for. Paths are absolute and without symbolic links, unless their field documents otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// Whether the start fails if something cannot be had.
    pub is_demanded: bool,
    /// Directories and files that can be written. `None`: writing is not confined.
    pub writes: Option<Vec<OsString>>,
    /// Why writing is not confined although it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// Paths that stay reachable where a directory above them is covered, as they were written.
    pub keeps: Vec<OsString>,
    /// Directories and files that cannot be written although they are inside one that can.
    pub read_only: Vec<OsString>,
    /// Directories that stay where they are although what is inside may be written. They must exist.
    pub pinned: Vec<OsString>,
    /// Files and directories that cannot be seen.
    pub hidden: Vec<OsString>,
    /// The one socket of others that can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<OsString>,
    pub network: NetworkUse,
    /// What stays reachable through the proxy where the network is not open.
    #[serde(default)]
    pub reachable: Reachable,
    pub limits: Limits,
}

/// How the executor's processes get to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Open,
    /// In a network of their own, with the proxy as the only way out.
    Proxied,
    Closed,
}

impl Sandbox {
    /// The proxy is only for those who cannot do without: nothing is nothing.
    pub(super) fn reach(&self) -> Reach {
        match self.network {
            NetworkUse::Full => Reach::Open,
            NetworkUse::Restricted => Reach::Proxied,
            NetworkUse::None if self.reachable.endpoints.is_empty() => Reach::Closed,
            NetworkUse::None => Reach::Proxied,
        }
    }
}

/// What all processes of the executor may use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads.
    pub processes_max: u32,
    /// Resident memory, and files that are only in memory.
    pub memory_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        use contract::domain::limits::{SANDBOX_MEMORY_BYTES_MAX, SANDBOX_PROCESSES_MAX};
        Self { processes_max: SANDBOX_PROCESSES_MAX, memory_bytes_max: SANDBOX_MEMORY_BYTES_MAX }
    }
}

/// What of a sandbox is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxInForce {
    /// Writing only where it is allowed.
    pub files: SandboxPart,
    /// What is hidden cannot be seen.
    pub store: SandboxPart,
    /// Sockets of other programs cannot be reached by their path.
    pub sockets: SandboxPart,
    /// No signals, traces or abstract sockets to processes outside.
    pub signals: SandboxPart,
    /// Calls that lead around the rest are refused.
    pub syscalls: SandboxPart,
    pub network: SandboxPart,
    pub limits: SandboxPart,
    /// What can be reached through the proxy. `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<Reachable>,
}

/// The name of the part that is about writing.
pub(crate) const FILES: &str = "files";

/// One part of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPart {
    On,
    /// Nobody asked for it, for this reason.
    Off(String),
    /// The system does not allow it, for this reason.
    Refused(String),
}

impl SandboxPart {
    pub fn is_refused(&self) -> bool {
        matches!(self, SandboxPart::Refused(_))
    }
}

/// As traces and people read it.
impl fmt::Display for SandboxPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SandboxPart::On => f.write_str("on"),
            SandboxPart::Off(reason) => write!(f, "off: {reason}"),
            SandboxPart::Refused(reason) => write!(f, "refused: {reason}"),
        }
    }
}

impl SandboxInForce {
    /// Nothing is in force, for one reason.
    pub fn refused(reason: &str) -> Self {
        let part = || SandboxPart::Refused(reason.to_owned());
        Self {
            files: part(),
            store: part(),
            sockets: part(),
            signals: part(),
            syscalls: part(),
            network: part(),
            limits: part(),
            reachable: None,
        }
    }

    /// Each part under the name that people read.
    pub fn parts(&self) -> [(&'static str, &SandboxPart); 7] {
        [
            (FILES, &self.files),
            ("store", &self.store),
            ("sockets", &self.sockets),
            ("signals", &self.signals),
            ("syscalls", &self.syscalls),
            ("network", &self.network),
            ("limits", &self.limits),
        ]
    }

    /// What could not be had, and why.
    pub fn missing(&self) -> Vec<String> {
        let refused = self.parts().into_iter().filter(|(_, part)| part.is_refused());
        refused.map(|(name, part)| format!("{name} {part}")).collect()
    }
}
