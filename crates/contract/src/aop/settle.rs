//! Writes values that are valid in two spellings in the one that the types read: `1.0` as `1`, a time without
//! zone as UTC.

use serde_json::Value;

use super::header::{TIME_FORM, with_zone};
use crate::finding::Findings;
use crate::shape::{Object, Shape};

/// Settles what fits `shape` and leaves the rest for the check. Says which times lacked a zone.
pub(super) fn settle(shape: &Object, value: &mut Value) -> Findings {
    let mut walk = Walk { path: String::from("$"), warnings: Findings::default() };
    walk.object(shape, value);
    walk.warnings
}

struct Walk {
    path: String,
    warnings: Findings,
}

impl Walk {
    fn value(&mut self, shape: &Shape, value: &mut Value) {
        match shape {
            Shape::Object(object) => self.object(object, value),
            Shape::Nullable(inner) => self.value(inner, value),
            Shape::List(list) => {
                for (index, item) in value.as_array_mut().into_iter().flatten().enumerate() {
                    self.below(&format!("[{index}]"), |walk| walk.value(&list.item, item));
                }
            }
            Shape::Map(map) => {
                for (name, item) in value.as_object_mut().into_iter().flatten() {
                    self.below(&format!(".{name}"), |walk| walk.value(&map.value, item));
                }
            }
            Shape::Integer { .. } => settle_integer(value),
            Shape::Text(text) if text.form.is_some_and(|form| std::ptr::eq(form, &raw const TIME_FORM)) => {
                self.time(value);
            }
            Shape::Text(_) | Shape::Word(_) | Shape::Number { .. } | Shape::Bool => {}
            Shape::AnyObject | Shape::Anything | Shape::Either(_) => {}
        }
    }

    fn object(&mut self, object: &Object, value: &mut Value) {
        let Value::Object(fields) = value else { return };
        for field in object.fields {
            if let Some(value) = fields.get_mut(field.name) {
                self.below(field.name, |walk| walk.value(&field.shape, value));
            }
        }
    }

    fn time(&mut self, value: &mut Value) {
        if let Some(zoned) = value.as_str().and_then(with_zone) {
            self.warnings.push(self.path.clone(), "zone", "the time has no zone and is taken as UTC");
            *value = Value::String(zoned);
        }
    }

    fn below(&mut self, step: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if !step.starts_with(['[', '.']) {
            self.path.push('.');
        }
        self.path.push_str(step);
        visit(self);
        self.path.truncate(length);
    }
}

/// JSON Schema counts `1.0` as an integer; beyond 2^53 a float no longer says which integer it is.
fn settle_integer(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.as_i64().is_some() {
        return;
    }
    if let Some(number) = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        let whole = number as i64;
        *value = Value::from(whole);
    }
}
