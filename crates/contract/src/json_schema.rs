//! JSON Schemas of types whose wire form is not their Rust form. Requests and answers of verbs derive theirs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::domain::crew::task_ref::{TASK_ID_FORM, TaskRef};
use crate::domain::id::{Id, Kind};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::shape::TIME_FORM;

/// A type that is a string on the wire, described by a pattern.
macro_rules! text {
    ($type:ty, $name:literal, $pattern:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    };
}

text!(Timestamp, "Timestamp", TIME_FORM.pattern);
text!(TaskRef, "TaskRef", TASK_ID_FORM.pattern);
text!(Scope, "Scope", ".");

impl<K: Kind> JsonSchema for Id<K> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}_id", K::PREFIX).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": format!("^{}_[a-z0-9_]{{1,64}}$", K::PREFIX)})
    }
}
