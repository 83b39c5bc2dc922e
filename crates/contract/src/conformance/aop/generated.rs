//! Makes a large message from a small one by a recipe.

use serde_json::Value;

use crate::conformance::Mismatch;
use crate::json::strict;

/// The largest message a recipe may generate; a larger one is a mistake in the vectors.
const MADE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Sets each dotted path of `base` to what its recipe says: a repeated text or copies of a value.
pub(super) fn make(base: &[u8], set: &Value) -> Result<String, Mismatch> {
    let mut value =
        strict::parse(base).map_err(|error| Mismatch(format!("the base is not JSON: {error}")))?;
    for (path, recipe) in set.as_object().into_iter().flatten() {
        let made = follow(recipe)?;
        put(&mut value, path, made)?;
    }
    Ok(value.to_string())
}

fn follow(recipe: &Value) -> Result<Value, Mismatch> {
    let times = recipe["times"].as_u64().and_then(|times| usize::try_from(times).ok());
    let Some(times) = times else { return Ok(recipe.clone()) };
    let (length, made) = match (&recipe["repeat"], &recipe["copies"]) {
        (Value::String(text), _) => (text.len(), None),
        (_, Value::Null) => {
            return Err(Mismatch("the recipe names neither `repeat` nor `copies`".to_owned()));
        }
        (_, item) => (item.to_string().len(), Some(item)),
    };
    if length.saturating_mul(times) > MADE_BYTES_MAX {
        return Err(Mismatch("the recipe generates too much".to_owned()));
    }
    Ok(match made {
        Some(item) => Value::Array(vec![item.clone(); times]),
        None => Value::String(recipe["repeat"].as_str().unwrap_or_default().repeat(times)),
    })
}

fn put(value: &mut Value, path: &str, made: Value) -> Result<(), Mismatch> {
    let mut at = value;
    for name in path.split('.') {
        if at.is_null() {
            *at = Value::Object(serde_json::Map::new());
        }
        let Value::Object(fields) = at else {
            return Err(Mismatch(format!("`{path}` goes through a value that is not an object")));
        };
        at = fields.entry(name).or_insert(Value::Null);
    }
    *at = made;
    Ok(())
}
