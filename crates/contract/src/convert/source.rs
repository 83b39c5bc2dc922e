//! A document that records which parts were used, so that the rest can be reported.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

/// A value that was lost in the conversion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LostValue {
    pub path: String,
    pub why: String,
}

pub(super) struct ConvertSource<'d> {
    document: &'d Value,
    /// JSON pointers of the used values; each includes everything below it.
    taken: BTreeSet<String>,
    lost: Vec<LostValue>,
}

impl<'d> ConvertSource<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        Self { document, taken: BTreeSet::new(), lost: Vec::new() }
    }

    /// The whole document, marked as used.
    pub(super) fn whole(&mut self) -> &'d Value {
        self.taken.insert(String::new());
        self.document
    }

    /// The value at a JSON pointer, marked as used. Null is `None`.
    pub(super) fn take(&mut self, pointer: &str) -> Option<&'d Value> {
        self.taken.insert(pointer.to_owned());
        self.peek(pointer)
    }

    /// The same without marking it.
    pub(super) fn peek(&self, pointer: &str) -> Option<&'d Value> {
        self.document.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, pointer: &str) -> Option<&'d str> {
        self.take(pointer)?.as_str()
    }

    pub(super) fn number(&mut self, pointer: &str) -> Option<u64> {
        let value = self.take(pointer)?;
        value.as_u64().or_else(|| {
            let number = value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative, bounded by its validator"
            )]
            let whole = number as u64;
            Some(whole)
        })
    }

    pub(super) fn texts(&mut self, pointer: &str) -> Vec<String> {
        let list = self.take(pointer).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// How many items a list has.
    pub(super) fn count(&self, pointer: &str) -> usize {
        self.peek(pointer).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// The extensions of an object, named `x_…`, marked as used.
    pub(super) fn extensions(&mut self, pointer: &str) -> Map<String, Value> {
        let fields = self.peek(pointer).and_then(Value::as_object);
        let found: Map<String, Value> = fields
            .into_iter()
            .flatten()
            .filter(|(name, value)| name.starts_with("x_") && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for name in found.keys() {
            self.taken.insert(format!("{pointer}/{}", escaped(name)));
        }
        found
    }

    /// Reports that a value was changed.
    pub(super) fn lose(&mut self, pointer: &str, why: impl Into<String>) {
        self.lost.push(LostValue { path: path_of(pointer), why: why.into() });
    }

    /// Everything that was not used, each with its path.
    pub(super) fn lost(mut self) -> Vec<LostValue> {
        let document = self.document;
        self.leftovers(&mut String::new(), document);
        self.lost.sort();
        self.lost.dedup();
        self.lost
    }

    fn leftovers(&mut self, pointer: &mut String, value: &Value) {
        if self.taken.contains(pointer.as_str()) {
            return;
        }
        let length = pointer.len();
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    pointer.push('/');
                    pointer.push_str(&escaped(name));
                    self.leftovers(pointer, value);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    self.leftovers(pointer, item);
                    pointer.truncate(length);
                }
            }
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.lose(pointer, "cannot be converted to the other contract");
            }
        }
    }
}

/// A name as a segment of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A JSON pointer as a path of a finding: `/task/inputs/0` is `$.task.inputs[0]`.
fn path_of(pointer: &str) -> String {
    let mut path = String::from("$");
    for step in pointer.split('/').skip(1) {
        if step.bytes().all(|byte| byte.is_ascii_digit()) && !step.is_empty() {
            path.push('[');
            path.push_str(step);
            path.push(']');
        } else {
            path.push('.');
            path.push_str(&step.replace("~1", "/").replace("~0", "~"));
        }
    }
    path
}
