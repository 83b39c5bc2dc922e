//! Validates an envelope: syntax, version, missing fields, types, then the payload if the intent is known.

use crate::aee::{Envelope, Type, VERSION, evidence, intents, judge, parts, shape};
use crate::domain::priority::Priority;
use crate::domain::text::cut;
use crate::domain::time::Timestamp;
use crate::finding::Findings;
use crate::json::{Map, Value};
use crate::shape::check::nearest;
use crate::verdict::Verdict;

const KIND: &str = "aee";

/// Validates one envelope. Strict: recommendations are rules, and unknown fields are faults.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => verdict(&document, strict),
        Err(refused) => *refused,
    }
}

/// Every fault of an envelope that is already JSON.
pub fn check(document: &Value) -> Findings {
    faults(document, false)
}

/// Reads one envelope, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<Envelope, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    let verdict = verdict(&document, false);
    if verdict.allow { Ok(read(document)) } else { Err(Box::new(verdict)) }
}

impl Envelope {
    /// Reads an envelope that is already JSON, or gives its faults.
    pub fn from_value(document: Value) -> Result<Self, Findings> {
        let findings = check(&document);
        if findings.is_empty() { Ok(read(document)) } else { Err(findings) }
    }
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
    if let Some(v) = document.get("v").filter(|v| !v.is_null() && *v != VERSION) {
        // Stop here: another version may have other fields.
        let message = format!("only version \"{VERSION}\" is known; this is {}", shortened(v));
        findings.push("$.v", "version", message);
        return findings;
    }
    findings = judge::check(&shape::ENVELOPE, document, strict);
    check_reply(&mut findings, document);
    if let (Some(kind), Some(intent), Some(payload)) =
        (kind_of(document), text(document, "intent"), document.get("payload").filter(|p| p.is_object()))
    {
        judge::absorb(&mut findings, "$.payload", intents::check(intent, kind, payload));
    }
    findings
}

fn check_reply(findings: &mut Findings, document: &Value) {
    let Some(kind) = kind_of(document).filter(|kind| kind.is_answer()) else { return };
    match document.get("reply_to") {
        None | Some(Value::Null) => {
            let message = format!("`reply_to` is required: a {} answers an envelope", kind.as_str());
            findings.push("$.reply_to", "missing", message);
        }
        Some(Value::String(id)) if id.chars().count() < shape::ID_CHARS_MIN => {
            let message = format!("needs at least {} characters, like every id", shape::ID_CHARS_MIN);
            findings.push("$.reply_to", "min_length", message);
        }
        // The shape reports any other type.
        Some(_) => {}
    }
}

/// Warnings about what is allowed but probably a mistake.
fn advice(document: &Value) -> Findings {
    let mut warnings = Findings::default();
    if text(document, "ts").is_some_and(|ts| ts.len() >= 10 && Timestamp::parse(ts).is_err()) {
        warnings.push("$.ts", "ts_form", "should be a time in RFC 3339 form, such as 2026-01-26T12:00:00Z");
    }
    let names = document.as_object().into_iter().flat_map(Map::keys);
    for name in names.filter(|name| !shape::FIELDS.contains(&name.as_str())) {
        if let Some(known) = nearest(name, shape::FIELDS.into_iter()) {
            let message = format!("unknown field `{name}` is ignored; did you mean `{known}`?");
            warnings.push(format!("$.{name}"), "unknown_field", message);
        }
    }
    let intent = text(document, "intent").unwrap_or_default();
    if intents::is_reserved(intent) && !intents::ALL.contains(&intent) {
        warnings.push("$.intent", "reserved_intent", "`aee.*` is reserved for the protocol's own intents");
    }
    if let (Some(kind), Some(payload)) = (kind_of(document), document.get("payload")) {
        judge::absorb(&mut warnings, "$.payload", conventions(kind, payload));
    }
    warnings
}

/// The parts of a payload that mean the same under every intent.
fn conventions(kind: Type, payload: &Value) -> Findings {
    let mut findings = Findings::default();
    if kind == Type::Error {
        judge::absorb(&mut findings, "$", parts::check_error(payload));
    }
    if let Some(references) = payload.get("references") {
        judge::absorb(&mut findings, "$.references", parts::check_references(references));
    }
    if let Some(decision) = payload.get("decision_evidence").filter(|_| kind == Type::Result) {
        judge::absorb(&mut findings, "$.decision_evidence", evidence::check(evidence::Level::None, decision));
    }
    findings
}

fn kind_of(document: &Value) -> Option<Type> {
    Type::parse(text(document, "type")?)
}

fn text<'d>(document: &'d Value, name: &str) -> Option<&'d str> {
    document.get(name).and_then(Value::as_str)
}

fn shortened(value: &Value) -> String {
    cut(&value.to_string(), 40)
}

/// Reads a document that has no faults.
pub(super) fn read(document: Value) -> Envelope {
    let Value::Object(mut document) = document else { unreachable!("BUG: it was checked to be an object") };
    document.remove("v");
    let mut text = |name: &str| match document.remove(name) {
        Some(Value::String(text)) => text,
        _ => unreachable!("BUG: `{name}` was checked to be text"),
    };
    let (id, ts, kind, priority) = (text("id"), text("ts"), text("type"), text("priority"));
    let (from, to, intent, corr) = (text("from"), text("to"), text("intent"), text("corr"));
    let mut object = |name: &str| match document.remove(name) {
        Some(Value::Object(fields)) => Some(fields),
        _ => None,
    };
    let (trace, requires, payload) = (object("trace"), object("requires"), object("payload"));
    let reply_to = match document.remove("reply_to") {
        Some(Value::String(id)) => Some(id),
        _ => None,
    };
    let sig = document.remove("sig").filter(|sig| !sig.is_null());
    Envelope {
        id,
        ts,
        kind: Type::parse(&kind).expect("BUG: the type was checked"),
        from,
        to,
        intent,
        corr,
        reply_to,
        trace,
        priority: Priority::parse(&priority).expect("BUG: the priority was checked"),
        requires,
        payload: payload.expect("BUG: the payload was checked to be an object"),
        sig,
        extra: document,
    }
}

#[cfg(test)]
mod tests;
