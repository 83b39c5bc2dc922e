//! Normalizes values that are valid in two spellings to the one that the types read: `1.0` to `1`, a time without
//! zone to UTC.

use serde_json::Value;

use super::header::{TIME_FORM, with_zone};
use crate::finding::Findings;
use crate::shape::{Object, Shape};

/// Normalizes values that match `shape` and leaves the rest for the check. Reports times without a zone.
pub(super) fn settle(shape: &'static Object, value: &mut Value) -> Findings {
    let mut walk = SettleWalk { place: Vec::new(), warnings: Findings::default() };
    walk.object(shape, value);
    walk.warnings
}

enum SettleStep {
    Field(&'static str),
    Name(String),
    Item(usize),
}

struct SettleWalk {
    place: Vec<SettleStep>,
    warnings: Findings,
}

impl SettleWalk {
    fn value(&mut self, shape: &Shape, value: &mut Value) {
        match shape {
            Shape::Object(object) => self.object(object, value),
            Shape::Nullable(inner) => self.value(inner, value),
            Shape::List(list) if has_unsettled(&list.item) => {
                for (index, item) in value.as_array_mut().into_iter().flatten().enumerate() {
                    self.below(SettleStep::Item(index), |walk| walk.value(&list.item, item));
                }
            }
            Shape::Map(map) if has_unsettled(&map.value) => {
                for (name, item) in value.as_object_mut().into_iter().flatten() {
                    self.below(SettleStep::Name(name.clone()), |walk| walk.value(&map.value, item));
                }
            }
            Shape::Integer { .. } => settle_integer(value),
            Shape::Text(_) if is_time(shape) => self.time(value),
            Shape::List(_) | Shape::Map(_) | Shape::Text(_) | Shape::Word(_) | Shape::Number { .. } => {}
            Shape::Bool | Shape::AnyObject | Shape::Anything | Shape::Either(_) => {}
        }
    }

    fn object(&mut self, object: &'static Object, value: &mut Value) {
        let Value::Object(fields) = value else { return };
        for field in object.fields.iter().filter(|field| has_unsettled(&field.shape)) {
            if let Some(value) = fields.get_mut(field.name) {
                self.below(SettleStep::Field(field.name), |walk| walk.value(&field.shape, value));
            }
        }
    }

    fn time(&mut self, value: &mut Value) {
        if let Some(zoned) = value.as_str().and_then(with_zone) {
            self.warnings.push(self.path(), "zone", "the time has no zone and is read as UTC");
            *value = Value::String(zoned);
        }
    }

    fn below(&mut self, step: SettleStep, visit: impl FnOnce(&mut Self)) {
        self.place.push(step);
        visit(self);
        self.place.pop();
    }

    fn path(&self) -> String {
        let step = |step: &SettleStep| match step {
            SettleStep::Field(name) => format!(".{name}"),
            SettleStep::Name(name) => format!(".{name}"),
            SettleStep::Item(index) => format!("[{index}]"),
        };
        format!("${}", self.place.iter().map(step).collect::<String>())
    }
}

/// Whether values of a shape can need normalizing; most fields are texts and words, which do not.
fn has_unsettled(shape: &Shape) -> bool {
    match shape {
        Shape::Object(_) | Shape::List(_) | Shape::Map(_) | Shape::Integer { .. } => true,
        Shape::Nullable(inner) => has_unsettled(inner),
        Shape::Text(_) => is_time(shape),
        Shape::Word(_) | Shape::Number { .. } | Shape::Bool => false,
        Shape::AnyObject | Shape::Anything | Shape::Either(_) => false,
    }
}

fn is_time(shape: &Shape) -> bool {
    let Shape::Text(text) = shape else { return false };
    text.form.is_some_and(|form| std::ptr::eq(form, &raw const TIME_FORM))
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
