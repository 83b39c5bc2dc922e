//! A push as a verb's request: the agent contract's document, and what its reader ignores in it.

use std::borrow::Cow;

use contract::continuity::push::Push;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// What an agent writes in one transaction. The agent contract tolerates unknown fields; the answer lists them.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub(super) push: Push,
    pub(super) ignored: Vec<String>,
}

impl Request {
    /// Reads a document, or reports every fault in it.
    pub fn of(document: Value) -> Result<Self> {
        let ignored = Push::ignored(&document);
        let push = Push::of(document).map_err(|findings| Error::invalid("push", findings))?;
        Ok(Self { push, ignored })
    }

    /// The same for bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::of(Push::parse(bytes).map_err(|findings| Error::invalid("push", findings))?)
    }
}

/// Ignored fields are no part of the request, and so not of its fingerprint.
impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.push.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::of(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Request {
    fn schema_name() -> Cow<'static, str> {
        "Push".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Push::schema();
        schema["x-contract"] = json!("agent");
        Schema::try_from(schema).expect("BUG: a schema of a shape is an object")
    }
}
