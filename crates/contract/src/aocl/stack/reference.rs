//! What a stack may run: a canonical layer or one of the built-in branches.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::aocl::Layer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    Layer(Layer),
    /// The short path for alerts.
    AlertFast,
    /// The path for restricted work.
    Restricted,
}

impl Reference {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "builtin:branch.alert_fast" => Some(Reference::AlertFast),
            "builtin:branch.restricted" => Some(Reference::Restricted),
            _ => Layer::from_reference(text).map(Reference::Layer),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Reference::Layer(layer) => layer.reference(),
            Reference::AlertFast => "builtin:branch.alert_fast",
            Reference::Restricted => "builtin:branch.restricted",
        }
    }

    /// Whether it refers to a separate stack.
    pub fn is_branch(self) -> bool {
        matches!(self, Reference::AlertFast | Reference::Restricted)
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format_args!("unknown ref `{text}`")))
    }
}
