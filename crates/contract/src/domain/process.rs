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
