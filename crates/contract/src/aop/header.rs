//! What every AOP message shares: versions, extensions, and the shapes of small values.

use serde_json::{Map as Fields, Value};

use crate::shape::{
    Field, NON_BLANK, Shape, TIME_FORM as TIME_WITH_ZONE, Text, TextForm, UNBOUNDED, optional, words,
};

/// The protocol revision this implementation supports and prints.
pub const AOP_VERSION: &str = "2.0.2-C";
pub const SCHEMA_VERSION: &str = "2.0.2";

/// Vendor data under `x_` names: kept unchanged, never interpreted.
pub type Extensions = Fields<String, Value>;

words! {
    /// The only protocol family there is.
    Family { Aop = "AOP" }
}

words! {
    /// What kind of message this is.
    MessageType { Task = "TASK", Response = "RESPONSE", Event = "EVENT" }
}

/// Whether a version string belongs to this protocol generation.
pub fn is_v2(version: &str) -> bool {
    version.starts_with("2.")
}

/// Identifiers and names: opaque, but never blank.
pub(super) const NAME: Shape = NON_BLANK;
pub(super) const VERSION: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(&VERSION_FORM) });
pub(super) const TIME: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(&TIME_FORM) });

static VERSION_FORM: TextForm =
    TextForm { name: "a version that starts with `2.`", pattern: "^2\\.", accepts: is_v2 };

/// Times without a zone are common; they are read as UTC with a warning.
pub(super) static TIME_FORM: TextForm = TextForm {
    name: "a time in RFC 3339 form, such as 2026-01-26T12:00:00Z",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?$",
    accepts: |text| (TIME_WITH_ZONE.accepts)(text) || with_zone(text).is_some(),
};

/// The same time with `Z` appended, if that is all it lacked.
pub(super) fn with_zone(text: &str) -> Option<String> {
    // A time with its zone is the usual case and needs no copy.
    if text.ends_with(['Z', 'z']) {
        return None;
    }
    let zoned = format!("{text}Z");
    (TIME_WITH_ZONE.accepts)(&zoned).then_some(zoned)
}

/// An optional field that may also be `null`.
pub(super) const fn maybe(name: &'static str, shape: &'static Shape, about: &'static str) -> Field {
    optional(name, Shape::Nullable(shape), about)
}
