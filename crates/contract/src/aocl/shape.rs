//! The shapes of context deltas and digests.

use crate::aocl::bundle;
use crate::shape::{Map, Shape, TEXT, Text, TextForm, UNBOUNDED};

pub static CONTEXT_PATH: TextForm = TextForm {
    name: "a context path such as C4.Policy.allowed_tools",
    pattern: "^(C0\\.Event|C1\\.Identity|C2\\.Task|C3\\.Memory|C4\\.Policy|C5\\.Execution|C6\\.Audit)(\\.[^.]+)+$",
    accepts: bundle::is_context_path,
};

pub(super) const DELTA: Shape = Shape::Map(&Map {
    value: Shape::Anything,
    key: Text { min: 1, max: UNBOUNDED, form: Some(&CONTEXT_PATH) },
});

/// Digests by their names; `context_in` and `context_out` are the ones that chain.
pub(super) const DIGESTS: Shape =
    Shape::Map(&Map { value: TEXT, key: Text { min: 0, max: UNBOUNDED, form: None } });
