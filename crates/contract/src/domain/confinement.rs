//! What the processes of a task may do and see, as far as a plan can say it.

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
