//! Which process is meant: a pid alone can be reused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One process of one machine, identified uniquely even if its pid is reused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// In clock ticks since boot.
    pub start_time: u64,
    /// The boot, and the pid namespace in which the pid is valid.
    pub boot_id: String,
    /// The namespaces of writ that the process is in, from the outermost to the innermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<NamespaceInit>,
    /// The machine, whatever its boot; empty where it has no name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// The store that an engine works for. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreFile>,
}

/// A store and the file that it is in. A copy of the file has the same id, and another device or inode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StoreFile {
    pub id: String,
    pub device: u64,
    pub inode: u64,
}

impl StoreFile {
    /// Whether a record that outlives a restart is about this file. Devices may have other numbers after a restart.
    pub fn is_recorded_as(&self, recorded: &StoreFile) -> bool {
        self.id == recorded.id && self.inode == recorded.inode
    }
}

/// A pid namespace, known by its first process: when that process is gone, so is everything in the namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NamespaceInit {
    /// The pid namespace from which this one was made, and in which `pid` is valid.
    pub outside: String,
    pub pid: u32,
    /// In clock ticks since boot.
    pub start_time: u64,
}

/// The process of the agent program that works under a claim. Without one, only the lease shows that an agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The agent program, such as `claude`.
    pub program: String,
    #[serde(flatten)]
    pub process: ProcessIdentity,
}

/// What is left of an engine, as far as one can see from here. While anything is, others get nothing of what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remains {
    Running,
    /// Its process exists and is stopped. What it started may still run.
    Stopped,
    /// Neither its process nor anything that it started is there any more.
    Gone,
    /// Its process is gone, but something that it started is not and could not be ended.
    Left,
    /// It is on another machine or in another container, or the process table cannot be read.
    Unseen,
}

impl Remains {
    /// Whether others may have what the engine holds. A lease that expired is not enough.
    pub fn may_be_swept(self) -> bool {
        match self {
            Remains::Gone => true,
            Remains::Running | Remains::Stopped | Remains::Left | Remains::Unseen => false,
        }
    }

    /// The process and its state, as a message names them.
    pub fn of_process(self, pid: u32) -> String {
        match self {
            Remains::Running => format!("process {pid}"),
            Remains::Stopped => format!("process {pid}, which is stopped"),
            Remains::Gone => format!("process {pid}, which is gone"),
            Remains::Left => format!("process {pid}, which is gone, but something it started still runs"),
            Remains::Unseen => {
                format!("process {pid}, which cannot be seen from here: another machine or container")
            }
        }
    }

    /// What a person can do about it. Nothing where waiting helps.
    pub fn remedy(self, pid: u32) -> Option<String> {
        match self {
            Remains::Running | Remains::Gone => None,
            Remains::Stopped => Some(format!("continue it with `kill -CONT {pid}` or `fg`, or end it")),
            Remains::Left | Remains::Unseen => {
                Some("when nothing of it runs any more, use `writ lock release --force`".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests;
