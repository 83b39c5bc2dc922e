//! What a child may do and see: asked for in its launch, and reported back by the shim as far as it is in force.

use std::collections::BTreeMap;
use std::fmt;

use contract::domain::confinement::{self, Namespace};
use serde::{Deserialize, Serialize};

use super::sandbox::{FILES, Sandbox, SandboxInForce, SandboxPart};

/// What is asked for. Without any wish: everything that the system allows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    pub namespace: Namespace,
    /// Needs the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<Sandbox>>,
}

/// What is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InForce {
    pub namespace: NamespaceInForce,
    /// `None` if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxInForce>>,
}

/// Whether a child lives in a pid namespace of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceInForce {
    On,
    /// Nobody asked for one.
    Off,
    /// The system does not allow it, for this reason.
    Refused(String),
}

impl InForce {
    /// Nothing is confined, because nothing was asked for.
    pub fn nothing() -> Self {
        Self { namespace: NamespaceInForce::Off, sandbox: None }
    }

    /// Whether the network is reached through the proxy alone.
    pub fn is_proxied(&self) -> bool {
        self.sandbox.as_ref().is_some_and(|sandbox| sandbox.reachable.is_some())
    }

    /// Whether no network can be reached.
    pub fn is_closed(&self) -> bool {
        let network = self.sandbox.as_ref().map(|sandbox| &sandbox.network);
        network == Some(&SandboxPart::On) && !self.is_proxied()
    }

    /// As it is stored and shown.
    pub fn words(&self) -> BTreeMap<String, String> {
        let namespace = (confinement::NAMESPACE.to_owned(), self.namespace.to_string());
        let parts = self.sandbox.iter().flat_map(|sandbox| sandbox.parts());
        // An unrequested part is not missing, but a result records that its files were not confined.
        let parts = parts.filter(|(name, part)| *name == FILES || !matches!(part, SandboxPart::Off(_)));
        let parts = parts.map(|(name, part)| (format!("{}.{name}", confinement::SANDBOX), part.to_string()));
        parts.chain([namespace]).collect()
    }
}

/// As traces and people read it.
impl fmt::Display for NamespaceInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamespaceInForce::On => f.write_str("on"),
            NamespaceInForce::Off => f.write_str("off"),
            NamespaceInForce::Refused(reason) => write!(f, "refused: {reason}"),
        }
    }
}
