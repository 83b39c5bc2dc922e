//! Finds the fields of a document that its reader ignores.

use serde_json::Value;

use super::Shape;
use crate::domain::limits;

/// The paths of fields that the shape does not name, such as `$.event.color`; only the first ones if there are many.
pub fn ignored(shape: &Shape, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(shape, value, "$", &mut found);
    found.truncate(limits::FINDINGS_MAX);
    found
}

fn collect(shape: &Shape, value: &Value, path: &str, found: &mut Vec<String>) {
    if found.len() > limits::FINDINGS_MAX {
        return;
    }
    match (shape, value) {
        (Shape::Object(object), Value::Object(fields)) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                match object.fields.iter().find(|field| field.name == name) {
                    Some(field) => collect(&field.shape, value, &path, found),
                    None => found.push(path),
                }
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                collect(&list.item, item, &format!("{path}[{index}]"), found);
            }
        }
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                collect(&map.value, value, &format!("{path}.{name}"), found);
            }
        }
        (Shape::Nullable(inner), value) => collect(inner, value, path, found),
        (
            Shape::Object(_)
            | Shape::List(_)
            | Shape::Map(_)
            | Shape::Text(_)
            | Shape::Word(_)
            | Shape::Integer { .. }
            | Shape::Number { .. }
            | Shape::Bool
            | Shape::AnyObject
            | Shape::Anything
            | Shape::Either(_),
            _,
        ) => {}
    }
}
