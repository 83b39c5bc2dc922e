//! Checks a document against its shape and reports every finding.

use serde_json::Value;

use super::{List, Map, Object, Shape, Text, Unknown};
use crate::domain::text::cut;
use crate::finding::Findings;

/// Checks `value` against `shape`. In strict mode fields that would be ignored are faults.
pub fn check(shape: &Shape, value: &Value, strict: bool) -> Findings {
    let mut walk = ShapeWalk { place: Vec::new(), findings: Findings::default(), strict };
    walk.value(shape, value);
    walk.findings
}

enum ShapeStep<'a> {
    Field(&'a str),
    Item(usize),
}

struct ShapeWalk<'a> {
    place: Vec<ShapeStep<'a>>,
    findings: Findings,
    strict: bool,
}

/// Which fields of a shape a document has.
#[derive(Default)]
struct Seen(u64);

impl Seen {
    fn add(&mut self, index: usize) {
        self.0 |= Self::bit(index);
    }

    fn has(&self, index: usize) -> bool {
        self.0 & Self::bit(index) != 0
    }

    fn bit(index: usize) -> u64 {
        1_u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)).expect("BUG: no shape has 64 fields")
    }
}

impl<'a> ShapeWalk<'a> {
    fn value(&mut self, shape: &Shape, value: &'a Value) {
        match shape {
            Shape::Object(object) => self.object(object, value),
            Shape::List(list) => self.list(list, value),
            Shape::Map(map) => self.map(map, value),
            Shape::Text(text) => self.text(*text, value),
            Shape::Word(words) => self.word(words, value),
            Shape::Integer { min, max } => self.integer(*min, *max, value),
            Shape::Number { min, max } => self.number(*min, *max, value),
            Shape::Bool if value.is_boolean() => {}
            Shape::Bool => self.wrong_type("true or false", value),
            Shape::AnyObject if value.is_object() => {}
            Shape::AnyObject => self.wrong_type("an object", value),
            Shape::Anything => {}
            Shape::Nullable(_) if value.is_null() => {}
            Shape::Nullable(inner) => self.value(inner, value),
            Shape::Either(shapes) => self.either(shapes, value),
        }
    }

    fn object(&mut self, object: &Object, value: &'a Value) {
        let Value::Object(fields) = value else { return self.wrong_type("an object", value) };
        // Looking up each name of the document in the shape is cheaper than the reverse, because a shape has few names.
        let mut seen = Seen::default();
        for (name, value) in fields {
            match object.fields.iter().position(|field| field.name == name) {
                Some(index) => {
                    seen.add(index);
                    self.place.push(ShapeStep::Field(name));
                    self.value(&object.fields[index].shape, value);
                    self.place.pop();
                }
                None => self.unknown(object, name),
            }
        }
        for (index, field) in object.fields.iter().enumerate() {
            if field.required && !seen.has(index) {
                let path = format!("{}.{}", self.path(), field.name);
                self.findings.push(path, "missing", format!("`{}` is required", field.name));
            }
        }
    }

    fn unknown(&mut self, object: &Object, name: &'a str) {
        let fault = match object.unknown {
            Unknown::Refused => true,
            Unknown::Kept => false,
            Unknown::OnlyExtensions => !name.starts_with("x_"),
            Unknown::KeptUnlessStrict => self.strict && !name.starts_with("x_"),
        };
        if !fault {
            return;
        }
        if self.findings.is_full() {
            return self.findings.omit();
        }
        let message = match nearest(name, object.fields.iter().map(|field| field.name)) {
            Some(known) => format!("unknown field `{name}`; did you mean `{known}`?"),
            None => format!("unknown field `{name}`"),
        };
        self.place.push(ShapeStep::Field(name));
        self.report("unknown_field", message);
        self.place.pop();
    }

    fn list(&mut self, list: &List, value: &'a Value) {
        let Value::Array(items) = value else { return self.wrong_type("a list", value) };
        if items.len() < list.min {
            self.report("min_items", format!("needs at least {}, has {}", list.min, items.len()));
        }
        if items.len() > list.max {
            self.report("max_items", format!("allows at most {}, has {}", list.max, items.len()));
        }
        for (index, item) in items.iter().enumerate() {
            self.place.push(ShapeStep::Item(index));
            self.value(&list.item, item);
            self.place.pop();
        }
    }

    fn map(&mut self, map: &Map, value: &'a Value) {
        let Value::Object(fields) = value else { return self.wrong_type("an object", value) };
        for (name, value) in fields {
            self.place.push(ShapeStep::Field(name));
            if let Some(form) = map.key.form.filter(|form| !(form.accepts)(name)) {
                self.report("key", format!("the name must be {}", form.name));
            }
            self.value(&map.value, value);
            self.place.pop();
        }
    }

    fn text(&mut self, text: Text, value: &Value) {
        let Value::String(string) = value else { return self.wrong_type("text", value) };
        // A text has at most as many characters as bytes, and at least a quarter, so most strings are never counted.
        let surely_fits = string.len().div_ceil(4) >= text.min && string.len() <= text.max;
        let chars = if surely_fits { string.len() } else { string.chars().count() };
        if !surely_fits && chars < text.min {
            let message = match text.min {
                1 => "must not be empty".to_owned(),
                min => format!("needs at least {min} characters, has {chars}"),
            };
            self.report("min_length", message);
        } else if chars > text.max {
            self.report("max_length", format!("allows at most {} characters, has {chars}", text.max));
        } else if let Some(form) = text.form.filter(|form| !(form.accepts)(string)) {
            self.report("form", format!("must be {}", form.name));
        }
    }

    fn word(&mut self, words: &[&'static str], value: &Value) {
        let Value::String(string) = value else { return self.wrong_type("text", value) };
        if words.contains(&string.as_str()) {
            return;
        }
        let shown = cut(string, 40);
        self.report("enum", format!("must be one of {}; is `{shown}`", words.join(", ")));
    }

    fn integer(&mut self, min: i64, max: i64, value: &Value) {
        let Some(number) = whole(value) else { return self.wrong_type("a whole number", value) };
        if number < min {
            self.report("minimum", format!("must be at least {min}, is {number}"));
        } else if number > max {
            self.report("maximum", format!("must be at most {max}, is {number}"));
        }
    }

    fn number(&mut self, min: f64, max: f64, value: &Value) {
        let Some(number) = value.as_f64() else { return self.wrong_type("a number", value) };
        if number < min {
            self.report("minimum", format!("must be at least {min}, is {number}"));
        } else if number > max {
            self.report("maximum", format!("must be at most {max}, is {number}"));
        }
    }

    fn either(&mut self, shapes: &[Shape], value: &'a Value) {
        match shapes.iter().find(|shape| shape.takes_type_of(value)) {
            Some(shape) => self.value(shape, value),
            None => {
                let names: Vec<&str> = shapes.iter().map(Shape::type_name).collect();
                self.wrong_type(&names.join(" or "), value);
            }
        }
    }

    fn wrong_type(&mut self, wanted: &str, value: &Value) {
        self.report("type", format!("must be {wanted}, is {}", type_name(value)));
    }

    fn report(&mut self, rule: &'static str, message: impl Into<String>) {
        let path = self.path();
        self.findings.push(path, rule, message);
    }

    fn path(&self) -> String {
        let mut path = String::from("$");
        for step in &self.place {
            match step {
                ShapeStep::Field(name) => push_field(&mut path, name),
                ShapeStep::Item(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
        }
        path
    }
}

/// Names that are not plain words are quoted, so that a path stays readable and unambiguous.
fn push_field(path: &mut String, name: &str) {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain {
        path.push('.');
        path.push_str(name);
    } else {
        let short = cut(name, 60);
        path.push_str(&format!("[{short:?}]"));
    }
}

impl Shape {
    fn takes_type_of(&self, value: &Value) -> bool {
        match self {
            Shape::Object(_) | Shape::Map(_) | Shape::AnyObject => value.is_object(),
            Shape::List(_) => value.is_array(),
            Shape::Text(_) | Shape::Word(_) => value.is_string(),
            Shape::Integer { .. } => whole(value).is_some(),
            Shape::Number { .. } => value.is_number(),
            Shape::Bool => value.is_boolean(),
            Shape::Anything => true,
            Shape::Nullable(inner) => value.is_null() || inner.takes_type_of(value),
            Shape::Either(shapes) => shapes.iter().any(|shape| shape.takes_type_of(value)),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Shape::Object(_) | Shape::Map(_) | Shape::AnyObject => "an object",
            Shape::List(_) => "a list",
            Shape::Text(_) | Shape::Word(_) => "text",
            Shape::Integer { .. } => "a whole number",
            Shape::Number { .. } => "a number",
            Shape::Bool => "true or false",
            Shape::Anything => "anything",
            Shape::Nullable(inner) => inner.type_name(),
            Shape::Either(_) => "one of several types",
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// JSON Schema counts 1.0 as an integer, so we do.
fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT)?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        let whole = number as i64;
        Some(whole)
    })
}

/// The known name closest to a misspelled one, if any is close. Long names are not compared: the cost grows with the
/// product of their lengths.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const COMPARED_BYTES_MAX: usize = 64;
    if name.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let allowed = (name.chars().count() / 2).clamp(1, 3);
    known
        .filter(|candidate| candidate.len() <= COMPARED_BYTES_MAX)
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests;
