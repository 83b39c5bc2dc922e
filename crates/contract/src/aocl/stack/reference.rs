//! What a stack may run: a canonical layer or one of the built-in branches.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::aocl::Layer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StackReference {
    Layer(Layer),
    /// The short path for alerts.
    AlertFast,
    /// The path for restricted work.
    Restricted,
}

impl StackReference {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "builtin:branch.alert_fast" => Some(StackReference::AlertFast),
            "builtin:branch.restricted" => Some(StackReference::Restricted),
            _ => Layer::from_reference(text).map(StackReference::Layer),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            StackReference::Layer(layer) => layer.reference(),
            StackReference::AlertFast => "builtin:branch.alert_fast",
            StackReference::Restricted => "builtin:branch.restricted",
        }
    }

    /// Whether it refers to a separate stack.
    pub fn is_branch(self) -> bool {
        matches!(self, StackReference::AlertFast | StackReference::Restricted)
    }
}

impl Serialize for StackReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StackReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format_args!("unknown ref `{text}`")))
    }
}
