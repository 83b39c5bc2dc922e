//! Stack files: which layers a request passes, in sequence (`pipeline`) or along conditions (`dag`).

pub mod check;
mod graph;
pub mod reference;

pub use check::{parse, validate};
pub use reference::StackReference;

use serde::{Deserialize, Serialize};

use crate::aocl::Layer;
use crate::shape::{NON_BLANK, Shape, document};
use check::COUNT;

/// Layers or nodes in one stack; a stack must stay readable.
pub const NODES_MAX: usize = 64;
pub const EDGES_MAX: usize = 512;

/// A valid stack; [`parse`] reads one from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    pub stack_id: String,
    pub version: String,
    pub walk: StackWalk,
    pub defaults: Defaults,
    pub bypass_policy: BypassPolicy,
    pub policy_overrides: PolicyOverrides,
}

/// How a request goes through the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackWalk {
    /// One after the other.
    Pipeline(Vec<StackStep>),
    /// From the root along the first edge whose condition holds.
    Dag { nodes: Vec<Node>, edges: Vec<Edge> },
}

document! {
    #[shape(name = "aocl_stack_layer", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct StackStep {
        pub id: String as NON_BLANK,
        #[serde(rename = "ref")]
        pub reference: StackReference,
        #[serde(default = "yes")]
        pub enabled: bool,
    }
}

document! {
    #[shape(name = "aocl_stack_node", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Node {
        pub id: String as NON_BLANK,
        #[serde(rename = "ref")]
        pub reference: StackReference,
    }
}

document! {
    #[shape(name = "aocl_stack_edge", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Edge {
        pub from: String as NON_BLANK,
        pub to: String as NON_BLANK,
        // An edge without a condition always holds.
        /// A condition over `context` and `control`.
        pub when: Option<String> as Shape::Nullable(&NON_BLANK),
    }
}

document! {
    #[shape(name = "aocl_stack_defaults", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct Defaults {
        pub timeout_ms: Option<u64> as COUNT,
        // 0 forbids actions altogether.
        pub max_parallel_actions: Option<u64> as COUNT,
        #[optional]
        pub bypass_allowed_for_roles: Vec<String>,
    }
}

document! {
    #[shape(name = "aocl_bypass_policy", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct BypassPolicy {
        #[serde(default)]
        pub allowed_roles: Vec<String>,
        #[serde(default)]
        pub never_bypass: Vec<String>,
        // Kept as written; writ records every bypass regardless of this value.
        #[serde(default = "yes")]
        pub audit_required: bool,
    }
}

document! {
    // Switches for what layers may do. A switch is on if it is absent or `enabled`.
    #[shape(name = "aocl_policy_overrides", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct PolicyOverrides {
        pub tool_execution: Option<String>,
        pub network_access: Option<String>,
    }
}

/// The answer to a request to skip a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BypassAnswer {
    Allowed,
    /// No role may skip this layer.
    NeverBypassed,
    RoleNotAllowed,
}

impl Stack {
    /// The default stack: all layers in sequence, and no role may skip any.
    pub fn standard() -> Self {
        let step = |layer: Layer| StackStep {
            id: layer.id().to_owned(),
            reference: StackReference::Layer(layer),
            enabled: true,
        };
        Self {
            stack_id: "default".to_owned(),
            version: crate::aocl::layer::VERSION.to_owned(),
            walk: StackWalk::Pipeline(Layer::ALL.into_iter().map(step).collect()),
            defaults: Defaults::default(),
            bypass_policy: BypassPolicy { audit_required: true, ..BypassPolicy::default() },
            policy_overrides: PolicyOverrides::default(),
        }
    }

    /// The layers a request can pass, in file order: enabled steps, or all nodes.
    pub fn members(&self) -> Vec<(&str, StackReference)> {
        match &self.walk {
            StackWalk::Pipeline(steps) => steps
                .iter()
                .filter(|step| step.enabled)
                .map(|step| (step.id.as_str(), step.reference))
                .collect(),
            StackWalk::Dag { nodes, .. } => {
                nodes.iter().map(|node| (node.id.as_str(), node.reference)).collect()
            }
        }
    }

    /// Where a request starts.
    pub fn root(&self) -> &str {
        match &self.walk {
            StackWalk::Pipeline(_) => {
                self.members().first().expect("BUG: a valid pipeline has an enabled layer").0
            }
            StackWalk::Dag { nodes, edges } => {
                let is_target = |node: &&Node| edges.iter().any(|edge| edge.to == node.id);
                let root = nodes.iter().find(|node| !node.reference.is_branch() && !is_target(node));
                &root.expect("BUG: a valid dag has one root").id
            }
        }
    }

    /// The edges from a node of a dag, in file order; the first whose condition holds is taken.
    pub fn edges_from(&self, id: &str) -> Vec<&Edge> {
        match &self.walk {
            StackWalk::Pipeline(_) => Vec::new(),
            StackWalk::Dag { edges, .. } => edges.iter().filter(|edge| edge.from == id).collect(),
        }
    }

    /// Whether work under this stack can be verified: a verify layer must be in it.
    pub fn can_verify(&self) -> bool {
        self.members().iter().any(|(_, reference)| *reference == StackReference::Layer(Layer::Verify))
    }

    /// Whether someone with this role may skip the layer.
    pub fn bypass(&self, role: &str, layer_id: &str) -> BypassAnswer {
        let listed = |list: &[String], word: &str| list.iter().any(|item| item == word);
        let guard = Layer::NEVER_BYPASSED.iter().any(|layer| layer.id() == layer_id);
        // A guard layer under another name is still a guard.
        let runs_guard = self.members().iter().any(|(id, reference)| {
            *id == layer_id
                && Layer::NEVER_BYPASSED.iter().any(|layer| *reference == StackReference::Layer(*layer))
        });
        if guard || runs_guard || listed(&self.bypass_policy.never_bypass, layer_id) {
            return BypassAnswer::NeverBypassed;
        }
        let may = listed(&self.bypass_policy.allowed_roles, role)
            || listed(&self.defaults.bypass_allowed_for_roles, role);
        if may { BypassAnswer::Allowed } else { BypassAnswer::RoleNotAllowed }
    }
}

impl PolicyOverrides {
    pub fn tools_enabled(&self) -> bool {
        is_enabled(self.tool_execution.as_deref())
    }

    pub fn network_enabled(&self) -> bool {
        is_enabled(self.network_access.as_deref())
    }
}

fn is_enabled(word: Option<&str>) -> bool {
    word.is_none_or(|word| word == "enabled")
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests;
