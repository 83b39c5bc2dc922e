//! Makes a case from another one by setting and removing members.

use serde_json::{Map, Value};

use crate::conformance::Mismatch;

/// The longest text a recipe may generate; a longer one is a mistake in the vectors.
const MADE_BYTES_MAX: u64 = 1024 * 1024;

/// The case `other` with the changes of `vector`: members of its input, options beside its own, and what is
/// expected now.
pub(super) fn make(mut other: Value, vector: &Value) -> Result<Value, Mismatch> {
    let Value::Object(case) = &mut other else { return Err(Mismatch("`of` is not a case".to_owned())) };
    let input = case.entry("input").or_insert(Value::Null);
    for (pointer, value) in vector["set"].as_object().into_iter().flatten() {
        put(input, pointer, made(value)?).ok_or_else(|| nowhere(pointer))?;
    }
    for pointer in vector["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        take(input, pointer).ok_or_else(|| nowhere(pointer))?;
    }
    let options = case.entry("options").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(options) = options else {
        return Err(Mismatch("its options are not an object".to_owned()));
    };
    options.extend(vector["options"].as_object().cloned().unwrap_or_default());
    options.retain(|_, value| !value.is_null());
    case.insert("expect".to_owned(), vector["expect"].clone());
    Ok(other)
}

fn nowhere(pointer: &str) -> Mismatch {
    Mismatch(format!("`{pointer}` is not in the document"))
}

/// `{repeat, times}` means a long text.
fn made(value: &Value) -> Result<Value, Mismatch> {
    let (Some(text), Some(times)) = (value["repeat"].as_str(), value["times"].as_u64()) else {
        return Ok(value.clone());
    };
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_mul(times);
    match usize::try_from(times) {
        Ok(times) if length <= MADE_BYTES_MAX => Ok(Value::String(text.repeat(times))),
        _ => Err(Mismatch("the recipe generates too much".to_owned())),
    }
}

/// Sets the member at a JSON pointer whose parent is there; `-` appends to a list.
fn put(document: &mut Value, pointer: &str, value: Value) -> Option<()> {
    let (parent, name) = pointer.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Object(fields) => drop(fields.insert(name.to_owned(), value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => *items.get_mut(name.parse::<usize>().ok()?)? = value,
        _ => return None,
    }
    Some(())
}

fn take(document: &mut Value, pointer: &str) -> Option<()> {
    let (parent, name) = pointer.rsplit_once('/')?;
    document.pointer_mut(parent)?.as_object_mut()?.remove(name).map(drop)
}
