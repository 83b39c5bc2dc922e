//! The one priority table in AOP's spelling.

use serde::{Deserialize, Deserializer, Serializer};

use crate::domain::priority::Priority;
use crate::shape::Shape;

pub(super) const SHAPE: Shape = Shape::Word(&["LOW", "NORMAL", "HIGH", "CRITICAL"]);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
pub(super) fn serialize<S: Serializer>(priority: &Priority, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(priority.aop())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    let word = String::deserialize(deserializer)?;
    Priority::parse(&word)
        .filter(|priority| priority.aop() == word)
        .ok_or_else(|| serde::de::Error::custom(format_args!("unknown priority `{word}`")))
}

/// The same for a field that may be absent or `null`.
pub(super) mod maybe {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::domain::priority::Priority;

    #[derive(Deserialize)]
    struct Word(#[serde(with = "super")] Priority);

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes the field by reference"
    )]
    pub(in super::super) fn serialize<S: Serializer>(
        priority: &Option<Priority>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match priority {
            Some(priority) => super::serialize(priority, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Priority>, D::Error> {
        Ok(Option::<Word>::deserialize(deserializer)?.map(|word| word.0))
    }
}
