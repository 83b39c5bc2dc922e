//! The context bundle: what the layers know, in seven partitions, changed only by deltas and identified by a digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest;
use crate::json::canonical::{self, NotCanonical};
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
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    value: Value,
    /// The canonical form of each entry of each partition, by its name as UTF-16, in which canonical JSON sorts. A bundle
    /// is digested after each layer, and a layer changes few entries.
    printed: [BTreeMap<Vec<u16>, Vec<u8>>; PARTITIONS.len()],
}

/// A partition by its number and its name.
type Partition = (&'static str, &'static str);

/// What the names and brackets of a partition take in the canonical form, roughly.
const PARTITION_FRAME_BYTES: usize = 24;
const COMPLETE: &str = "BUG: a bundle has all partitions";

/// A value directly inside a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BundleEntry {
    partition: Partition,
    name: String,
}

impl BundleEntry {
    /// The one that a context path leads to or through.
    fn of(path: &str) -> Self {
        let mut segments = path.splitn(4, '.');
        let number = segments.next();
        let partition = PARTITIONS.into_iter().find(|(known, _)| Some(*known) == number);
        let name = segments.nth(1).expect("BUG: a context path has at least three segments");
        Self {
            partition: partition.expect("BUG: a context path begins with a partition"),
            name: name.to_owned(),
        }
    }
}

/// What a delta has replaced: the entries that it is about, as they were before.
#[derive(Debug, Clone, PartialEq)]
pub struct Replaced(Vec<(BundleEntry, Option<Value>)>);

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
        let value = PARTITIONS.iter().map(|(number, name)| ((*number).to_owned(), partition(name))).collect();
        Self { value, printed: Default::default() }
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
            && canonical::check(&value).is_ok();
        if !fits {
            return Err(InvalidBundle);
        }
        let mut bundle = Self { value, printed: Default::default() };
        for (number, name) in PARTITIONS {
            let entries = bundle.value[number][name].as_object().map(|entries| entries.keys().cloned());
            for entry in entries.into_iter().flatten().collect::<Vec<_>>() {
                bundle.print((number, name), &entry);
            }
        }
        Ok(bundle)
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// The value at a path such as `C4.Policy.allowed_tools`.
    pub fn get(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.value, |place, segment| place.as_object()?.get(segment))
    }

    /// Sets each path of the delta to its value, in the order of the paths; null removes.
    /// If a path goes through a value that is not an object, the value is replaced.
    pub fn apply(&mut self, delta: &Map<String, Value>) -> Result<Replaced, InvalidDelta> {
        if let Some(path) = delta.keys().find(|path| !is_context_path(path)) {
            return Err(InvalidDelta::Path { path: path.clone() });
        }
        delta.values().try_for_each(canonical::check)?;
        let mut replaced: Vec<(BundleEntry, Option<Value>)> = Vec::with_capacity(delta.len());
        for (path, value) in delta {
            let entry = BundleEntry::of(path);
            if replaced.last().is_none_or(|(last, _)| *last != entry) {
                let before = self.entries(entry.partition).get(&entry.name).cloned();
                replaced.push((entry, before));
            }
            self.set(path, value);
        }
        for (entry, _) in &replaced {
            self.print(entry.partition, &entry.name);
        }
        Ok(Replaced(replaced))
    }

    /// Takes back the delta that was applied last.
    pub fn undo(&mut self, Replaced(replaced): Replaced) {
        for (BundleEntry { partition, name }, before) in replaced.into_iter().rev() {
            match before {
                Some(value) => self.entries_mut(partition).insert(name.clone(), value),
                None => self.entries_mut(partition).remove(&name),
            };
            self.print(partition, &name);
        }
    }

    /// The digest of the canonical form.
    pub fn digest(&self) -> String {
        let length: usize = self.printed.iter().flat_map(BTreeMap::values).map(|entry| entry.len() + 1).sum();
        let mut form = Vec::with_capacity(length + PARTITIONS.len() * PARTITION_FRAME_BYTES);
        for ((number, name), entries) in PARTITIONS.iter().zip(&self.printed) {
            form.push(if form.is_empty() { b'{' } else { b',' });
            form.extend(format!("\"{number}\":{{\"{name}\":{{").bytes());
            for (index, entry) in entries.values().enumerate() {
                form.extend((index > 0).then_some(b','));
                form.extend(entry);
            }
            form.extend(b"}}");
        }
        form.push(b'}');
        digest::of_bytes(&form)
    }

    fn entries(&self, (number, name): Partition) -> &Map<String, Value> {
        self.value[number][name].as_object().expect(COMPLETE)
    }

    fn entries_mut(&mut self, (number, name): Partition) -> &mut Map<String, Value> {
        self.value[number][name].as_object_mut().expect(COMPLETE)
    }

    /// Keeps the canonical form of an entry, or forgets it with the entry.
    fn print(&mut self, partition: Partition, name: &str) {
        let printed = self.entries(partition).get(name).map(|value| {
            let mut form = serde_json::to_vec(name).expect("BUG: a text has a JSON form");
            form.push(b':');
            form.extend(canonical::canonical_json(value).expect("BUG: only canonical values are let in"));
            form
        });
        let index = PARTITIONS.iter().position(|known| *known == partition).expect(COMPLETE);
        let key: Vec<u16> = name.encode_utf16().collect();
        match printed {
            Some(printed) => self.printed[index].insert(key, printed),
            None => self.printed[index].remove(&key),
        };
    }

    fn set(&mut self, path: &str, value: &Value) {
        let (parents, last) = path.rsplit_once('.').expect("BUG: a context path has at least three segments");
        let mut place = &mut self.value;
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

impl Serialize for Bundle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
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
