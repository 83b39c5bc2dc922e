//! The three envelopes of the bridge: invocation, checkpoint handoff, observability events.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::aee::judge;
use crate::bridge::{System, VERSIONS, stage1};
use crate::domain::time::Timestamp;
use crate::finding::Findings;
use crate::json::{Map, Value, json};
use crate::shape::{Described, NON_BLANK, Object, Shape, TIME, Unknown, optional, required, words};
use crate::verdict::Verdict;

const KIND: &str = "bridge_envelope";

words! {
    /// The only three surfaces there are.
    Contract {
        Invocation = "INVOCATION_ENVELOPE",
        CheckpointHandoff = "STATE_CHECKPOINT_HANDOFF",
        Events = "OBSERVABILITY_EVENTS",
    }
}

impl Contract {
    /// The surface of an operation; unknown operations may use any.
    pub fn of_operation(operation: &str) -> Option<Self> {
        match operation {
            "skill.invoke" => Some(Contract::Invocation),
            "checkpoint.update" | "validate.stage1.result" => Some(Contract::CheckpointHandoff),
            "event.emit" => Some(Contract::Events),
            _ => None,
        }
    }
}

/// One envelope. Unknown fields are kept and passed on unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct BridgeEnvelope {
    pub contract: Contract,
    pub source_system: System,
    pub target_system: System,
    pub operation: String,
    pub payload: Map<String, Value>,
    /// The text it arrived with.
    pub timestamp: String,
    /// Stable across retries.
    pub correlation_id: Option<String>,
    pub meta_extra: Map<String, Value>,
    pub extra: Map<String, Value>,
}

pub static ENVELOPE: Object = Object {
    name: "bridge_envelope",
    about: "One message between two agent command lines.",
    fields: &[
        optional("schema_version", Shape::Integer { min: 1, max: 1 }, "Always written; absent is read as 1."),
        required("contract", Contract::SHAPE, "Which of the three surfaces this is."),
        required("source_system", System::SHAPE, ""),
        required("target_system", System::SHAPE, ""),
        required("operation", NON_BLANK, "The operation."),
        required("payload", Shape::AnyObject, "May be empty."),
        required("meta", Shape::Object(&META), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static META: Object = Object {
    name: "bridge_meta",
    about: "",
    fields: &[
        required("timestamp", TIME, ""),
        optional("correlation_id", NON_BLANK, "The same for every retry."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates one envelope. Strict: recommendations are rules, and unknown fields are faults.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => verdict(&document, strict),
        Err(refused) => *refused,
    }
}

/// Reads one envelope, or gives the verdict that refuses it. A refused envelope must not change anything.
pub fn parse(bytes: &[u8]) -> Result<BridgeEnvelope, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    let verdict = verdict(&document, false);
    if verdict.allow { Ok(read(document)) } else { Err(Box::new(verdict)) }
}

fn verdict(document: &Value, strict: bool) -> Verdict {
    let mut findings = faults(document, strict);
    let mut warnings = advice(document);
    if strict {
        judge::absorb(&mut findings, "$", std::mem::take(&mut warnings));
    }
    judge::rule(KIND, "envelope valid", findings, warnings)
}

fn faults(document: &Value, strict: bool) -> Findings {
    let mut findings = Findings::default();
    if let Some(version) = document.get("schema_version").and_then(Value::as_i64)
        && !VERSIONS.contains(&version)
    {
        let message = format!("only version {} is known; this is {version}", VERSIONS.end());
        findings.push("$.schema_version", "version", message);
        return findings;
    }
    findings = judge::check(&ENVELOPE, document, strict);
    if document.get("operation").is_some_and(|operation| operation == stage1::OPERATION) {
        let payload = document.get("payload").unwrap_or(&Value::Null);
        judge::absorb(&mut findings, "$.payload", stage1::check(payload, strict));
    }
    findings
}

/// Warnings about deviations that are allowed.
fn advice(document: &Value) -> Findings {
    let mut warnings = Findings::default();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if document.get("schema_version").is_none() {
        warnings.push("$.schema_version", "version_absent", "should be written; read as 1");
    }
    if document.get("meta").is_some_and(|meta| meta.get("correlation_id").is_none()) {
        warnings.push(
            "$.meta.correlation_id",
            "uncorrelated",
            "retries cannot be distinguished from new messages",
        );
    }
    if text("source_system").is_some() && text("source_system") == text("target_system") {
        warnings.push("$.target_system", "same_system", "source and target are the same system");
    }
    let contract = text("contract").and_then(Contract::parse);
    let home = text("operation").and_then(Contract::of_operation);
    if let (Some(contract), Some(home)) = (contract, home)
        && contract != home
    {
        let message = format!("this operation belongs to {}", home.as_str());
        warnings.push("$.operation", "other_contract", message);
    }
    let severity = document.get("payload").and_then(|payload| payload.get("severity"));
    let known = severity.is_none_or(|word| ["info", "warn", "error"].iter().any(|known| word == known));
    if contract == Some(Contract::Events) && !known {
        warnings.push("$.payload.severity", "severity", "should be info, warn or error");
    }
    warnings
}

/// Reads a document that has no faults.
fn read(document: Value) -> BridgeEnvelope {
    let Value::Object(mut document) = document else { unreachable!("BUG: it was checked to be an object") };
    document.remove("schema_version");
    let text = |fields: &mut Map<String, Value>, name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let object = |fields: &mut Map<String, Value>, name: &str| match fields.remove(name) {
        Some(Value::Object(fields)) => fields,
        _ => unreachable!("BUG: `{name}` was checked to be an object"),
    };
    let word = |fields: &mut Map<String, Value>, name: &str| {
        text(fields, name).unwrap_or_else(|| unreachable!("BUG: `{name}` was checked to be text"))
    };
    let mut meta = object(&mut document, "meta");
    BridgeEnvelope {
        contract: Contract::parse(&word(&mut document, "contract")).expect("BUG: the contract was checked"),
        source_system: System::parse(&word(&mut document, "source_system"))
            .expect("BUG: the system was checked"),
        target_system: System::parse(&word(&mut document, "target_system"))
            .expect("BUG: the system was checked"),
        operation: word(&mut document, "operation"),
        payload: object(&mut document, "payload"),
        timestamp: word(&mut meta, "timestamp"),
        correlation_id: text(&mut meta, "correlation_id"),
        meta_extra: meta,
        extra: document,
    }
}

impl Serialize for BridgeEnvelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut meta = Map::new();
        meta.insert("timestamp".to_owned(), Value::from(self.timestamp.as_str()));
        if let Some(id) = &self.correlation_id {
            meta.insert("correlation_id".to_owned(), Value::from(id.as_str()));
        }
        meta.extend(self.meta_extra.clone());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", VERSIONS.end())?;
        map.serialize_entry("contract", self.contract.as_str())?;
        map.serialize_entry("source_system", &self.source_system)?;
        map.serialize_entry("target_system", &self.target_system)?;
        map.serialize_entry("operation", &self.operation)?;
        map.serialize_entry("payload", &self.payload)?;
        map.serialize_entry("meta", &meta)?;
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The event with which `receiver` must answer an envelope it refused. `None` if the refused one was itself
/// an event: two systems that reject each other's rejections would never stop.
pub fn rejection(
    receiver: System,
    refused: &[u8],
    verdict: &Verdict,
    now: Timestamp,
) -> Option<BridgeEnvelope> {
    let document = judge::read(KIND, refused).unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    if text(&document, "contract").as_deref() == Some(Contract::Events.as_str()) {
        return None;
    }
    let sender = text(&document, "source_system").and_then(|word| System::parse(&word));
    let payload = json!({
        "event_type": "bridge.envelope.rejected",
        "severity": "error",
        "message": verdict.reason,
        "code": verdict.code,
        "rule": verdict.details.rule,
    });
    let Value::Object(payload) = payload else { unreachable!("BUG: written as an object above") };
    Some(BridgeEnvelope {
        contract: Contract::Events,
        source_system: receiver,
        target_system: sender.unwrap_or(receiver.other()),
        operation: "event.emit".to_owned(),
        payload,
        timestamp: now.to_string(),
        correlation_id: document.get("meta").and_then(|meta| text(meta, "correlation_id")),
        meta_extra: Map::new(),
        extra: Map::new(),
    })
}

#[cfg(test)]
mod tests;
