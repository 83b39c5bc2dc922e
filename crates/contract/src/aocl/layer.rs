//! The eleven canonical layers, in the order in which a request passes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of every canonical layer.
pub const VERSION: &str = "0.1";

macro_rules! layers {
    ($($(#[$about:meta])* $name:ident, $id:literal, $reference:literal, $title:literal;)*) => {
        /// One layer of the control pipeline. Printed as its id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Layer { $( $(#[$about])* $name, )* }

        impl Layer {
            /// All layers, in order.
            pub const ALL: [Layer; 11] = [$( Layer::$name, )*];

            /// The name in traces and stacks, such as `L3.policy.gate`.
            pub fn id(self) -> &'static str {
                match self { $( Layer::$name => $id, )* }
            }
            /// The reference that a stack uses for writ's implementation.
            pub fn reference(self) -> &'static str {
                match self { $( Layer::$name => $reference, )* }
            }
            /// Two or three words for a person.
            pub fn title(self) -> &'static str {
                match self { $( Layer::$name => $title, )* }
            }
        }
    };
}

layers! {
    /// Turns any input into one event.
    Normalize, "L0.ingress.normalize", "builtin:l0.normalize", "Normalize input";
    /// Determines who asks and what they may see.
    Identity, "L1.identity.scope", "builtin:l1.identity", "Identity and scope";
    /// Chooses the route, or answers directly.
    Route, "L2.route.smart", "builtin:l2.router", "Route";
    /// Says what is allowed.
    Policy, "L3.policy.gate", "builtin:l3.policy", "Policy gate";
    /// Breaks the work into tasks.
    Plan, "L4.plan.decompose", "builtin:l4.plan", "Plan";
    /// Gathers what the work needs to know.
    Context, "L5.context.retrieve", "builtin:l5.context", "Gather context";
    /// Writes the tasks in the form an executor takes.
    Shape, "L6.shape.rewrite", "builtin:l6.shape", "Shape tasks";
    /// Delegates the work.
    Delegate, "L7.delegate.execute", "builtin:l7.delegate", "Delegate";
    /// Checks what came back.
    Verify, "L8.verify.check", "builtin:l8.verify", "Verify";
    /// Puts the answer together.
    Respond, "L9.assemble.respond", "builtin:l9.respond", "Assemble answer";
    /// Records what happened.
    Audit, "L10.audit.writeback", "builtin:l10.audit", "Audit";
}

impl Layer {
    /// No role and no stack file may skip these: without them the sender and its rights are unknown.
    pub const NEVER_BYPASSED: [Layer; 2] = [Layer::Identity, Layer::Policy];

    /// The place in the pipeline, counted from 0.
    pub fn order(self) -> usize {
        Self::ALL.iter().position(|layer| *layer == self).expect("BUG: ALL has every layer")
    }

    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.id() == id)
    }

    pub fn from_reference(reference: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.reference() == reference)
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Layer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::from_id(&id).ok_or_else(|| serde::de::Error::custom(format_args!("unknown layer `{id}`")))
    }
}

#[cfg(test)]
mod tests;
