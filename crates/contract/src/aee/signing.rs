//! What a signature covers: exactly ten fields, so that a tracer or an unknown field does not break it.

use serde::Serialize;

use crate::aee::{Envelope, Type, VERSION};
use crate::json::canonical::{NotCanonical, canonical};
use crate::json::{Map, Value};

#[derive(Serialize)]
struct Signed<'e> {
    v: &'static str,
    id: &'e str,
    ts: &'e str,
    r#type: Type,
    from: &'e str,
    to: &'e str,
    intent: &'e str,
    corr: &'e str,
    reply_to: Option<&'e str>,
    payload: &'e Map<String, Value>,
}

impl Envelope {
    /// The bytes that are signed: canonical JSON of the ten fields.
    pub fn signature_input(&self) -> Result<Vec<u8>, NotCanonical> {
        canonical(&Signed {
            v: VERSION,
            id: &self.id,
            ts: &self.ts,
            r#type: self.kind,
            from: &self.from,
            to: &self.to,
            intent: &self.intent,
            corr: &self.corr,
            reply_to: self.reply_to.as_deref(),
            payload: &self.payload,
        })
    }
}

#[cfg(test)]
mod tests;
