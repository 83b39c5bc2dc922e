//! Prints an envelope with all fourteen fields in the contract's order, then the unknown ones.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::aee::{Envelope, VERSION, shape};
use crate::json::Value;

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(shape::FIELDS.len() + self.extra.len()))?;
        map.serialize_entry("v", VERSION)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("ts", &self.ts)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("from", &self.from)?;
        map.serialize_entry("to", &self.to)?;
        map.serialize_entry("intent", &self.intent)?;
        map.serialize_entry("corr", &self.corr)?;
        map.serialize_entry("reply_to", &self.reply_to)?;
        map.serialize_entry("trace", &self.trace)?;
        map.serialize_entry("priority", self.priority.aee())?;
        map.serialize_entry("requires", &self.requires)?;
        map.serialize_entry("payload", &self.payload)?;
        map.serialize_entry("sig", &self.sig)?;
        for (name, value) in &self.extra {
            // A known name here would print a field twice, and strict readers refuse duplicates.
            if !shape::FIELDS.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Accepts only what the validator allows.
impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Value::deserialize(deserializer)?;
        Self::from_value(document).map_err(|findings| {
            let first = findings.sorted().into_iter().next();
            serde::de::Error::custom(first.map_or_else(|| "not an envelope".to_owned(), |f| f.to_string()))
        })
    }
}
