//! Requests that differ from a good one in one place.

use serde_json::{Value, json};

/// Every request that is one step away: a field dropped or added, a value of another type, null, or a wrong word.
/// Numbers such as 1.0 are not made: JSON Schema calls them integers and our types do not.
pub(super) fn all(request: &Value) -> Vec<Value> {
    let mut made = Vec::new();
    for path in paths(request, String::new()) {
        let Some(found) = request.pointer(&path) else { continue };
        for other in others(found) {
            made.push(with(request, &path, |place| *place = other));
        }
        let Value::Object(fields) = found else { continue };
        made.push(with(request, &path, |place| place["x_unknown_field"] = json!(1)));
        for name in fields.keys() {
            let drop = |place: &mut Value| {
                if let Some(fields) = place.as_object_mut() {
                    fields.remove(name);
                }
            };
            made.push(with(request, &path, drop));
        }
    }
    made
}

pub(super) fn with(request: &Value, path: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = request.clone();
    change(changed.pointer_mut(path).expect("BUG: the path was found"));
    changed
}

/// What a value may be replaced by. Equal ones change nothing.
fn others(found: &Value) -> Vec<Value> {
    let words = ["", "a wrong word"].map(Value::from);
    let kinds = [Value::Null, json!(true), json!(7), json!(-3), json!(0.5), json!([]), json!({})];
    kinds.into_iter().chain(words).filter(|other| other != found).collect()
}

/// The JSON pointers of all values.
pub(super) fn paths(value: &Value, here: String) -> Vec<String> {
    let below: Vec<String> = match value {
        Value::Object(fields) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            fields
                .iter()
                .flat_map(|(name, value)| paths(value, format!("{here}/{}", escaped(name))))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| paths(item, format!("{here}/{index}")))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    std::iter::once(here).chain(below).collect()
}
