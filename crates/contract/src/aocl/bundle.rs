//! The context bundle: what the layers know, in seven partitions, changed only by deltas and identified by a digest.

use serde::{Deserialize, Deserializer, Serialize};

use crate::digest;
use crate::json::canonical::{NotCanonical, canonical};
use crate::json::{Map, Value};

/// The partitions: a number and a readable name.
pub const PARTITIONS: [(&str, &str); 7] = [
    ("C0", "Event"),
    ("C1", "Identity"),
    ("C2", "Task"),
    ("C3", "Memory"),
    ("C4", "Policy"),
    ("C5", "Execution"),
    ("C6", "Audit"),
];

/// Segments of one path. Deeper context belongs in a separate document that is referenced.
pub const PATH_SEGMENTS_MAX: usize = 32;

/// The context of one run. It always has all seven partitions and always has a canonical form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Bundle(Value);

/// Why a delta was refused. The bundle is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDelta {
    #[error("`{path}` is not a context path such as C4.Policy.allowed_tools")]
    Path { path: String },
    #[error("the delta has no canonical form")]
    NotCanonical(#[from] NotCanonical),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a context bundle has exactly the partitions C0.Event to C6.Audit")]
pub struct InvalidBundle;

impl Default for Bundle {
    fn default() -> Self {
        Self::new()
    }
}

impl Bundle {
    /// Seven empty partitions.
    pub fn new() -> Self {
        let partition =
            |name: &str| Value::Object(Map::from_iter([(name.to_owned(), Value::Object(Map::new()))]));
        Self(PARTITIONS.iter().map(|(number, name)| ((*number).to_owned(), partition(name))).collect())
    }

    /// Takes a bundle that was stored or sent.
    pub fn from_value(value: Value) -> Result<Self, InvalidBundle> {
        let is_alone = |value: Option<&Value>, name: &str| {
            value
                .and_then(Value::as_object)
                .is_some_and(|fields| fields.len() == 1 && fields.get(name).is_some_and(Value::is_object))
        };
        let fits = value.as_object().is_some_and(|fields| fields.len() == PARTITIONS.len())
            && PARTITIONS.iter().all(|(number, name)| is_alone(value.get(number), name))
            && canonical(&value).is_ok();
        if fits { Ok(Self(value)) } else { Err(InvalidBundle) }
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The value at a path such as `C4.Policy.allowed_tools`.
    pub fn get(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.0, |place, segment| place.as_object()?.get(segment))
    }

    /// Sets each path of the delta to its value, in the order of the paths; null removes.
    /// If a path goes through a value that is not an object, the value is replaced.
    pub fn apply(&mut self, delta: &Map<String, Value>) -> Result<(), InvalidDelta> {
        if let Some(path) = delta.keys().find(|path| !is_context_path(path)) {
            return Err(InvalidDelta::Path { path: path.clone() });
        }
        canonical(delta)?;
        for (path, value) in delta {
            self.set(path, value);
        }
        Ok(())
    }

    /// The digest of the canonical form.
    pub fn digest(&self) -> String {
        digest::of_value(&self.0).expect("BUG: only values with a canonical form are let in")
    }

    fn set(&mut self, path: &str, value: &Value) {
        let (parents, last) = path.rsplit_once('.').expect("BUG: a context path has at least three segments");
        let mut place = &mut self.0;
        for segment in parents.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            // Removing a path below a missing parent must not create the parent.
            if value.is_null() && place.get(segment).is_none() {
                return;
            }
            place = &mut place[segment];
        }
        match (place, value) {
            (Value::Object(fields), Value::Null) => {
                fields.remove(last);
            }
            (Value::Object(fields), value) => {
                fields.insert(last.to_owned(), value.clone());
            }
            (_, Value::Null) => {}
            (place, value) => {
                *place = Value::Object(Map::from_iter([(last.to_owned(), value.clone())]));
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bundle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A partition and its name, then at least one name inside it.
pub fn is_context_path(path: &str) -> bool {
    let mut segments = path.split('.');
    let (Some(number), Some(name)) = (segments.next(), segments.next()) else { return false };
    let inside = segments.clone().count();
    PARTITIONS.contains(&(number, name))
        && (1..=PATH_SEGMENTS_MAX - 2).contains(&inside)
        && segments.all(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests;
