//! What this implementation answers to the questions of the vectors.

mod bridge;
mod given;
mod operator;

use serde_json::{Map, Value, json};

use crate::aocl::Bundle;
use crate::domain::failure_code::FailureCode;
use crate::validate::{Kind, could_not_work, validate};
use crate::{aee, aop};
use given::OwnedOptions;

/// Answers one question. An unknown question is answered with `error`, which matches no expectation.
pub fn answer(question: &Value) -> Value {
    let ask = question["ask"].as_str().unwrap_or_default();
    let answer = match ask {
        "validate" => Some(verdict(question)),
        "aop-detect" => Some(detection(question)),
        "aee-signature-input" => signature_input(&question["input"]),
        "aocl-bundle" => bundle(&question["deltas"]),
        _ => operator::answer(ask, question).or_else(|| bridge::answer(ask, question)),
    };
    answer.unwrap_or_else(|| json!({"error": "unknown question"}))
}

fn verdict(question: &Value) -> Value {
    let Some(kind) = question["kind"].as_str().and_then(Kind::named) else {
        return json!(could_not_work(None, "usage", "unknown kind"));
    };
    let bytes = match (&question["input"], question["input_hex"].as_str().and_then(from_hex)) {
        (Value::String(text), _) => text.as_bytes().to_vec(),
        (_, Some(bytes)) => bytes,
        _ => return json!(could_not_work(Some(kind), "usage", "the input is missing")),
    };
    match OwnedOptions::read(&question["options"]) {
        Ok(given) => json!(validate(Some(kind), &bytes, &given.options())),
        Err(name) => {
            json!(could_not_work(Some(kind), "usage", format!("unknown option `{name}`")))
        }
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn detection(question: &Value) -> Value {
    let found = aop::detect(question["input"].as_str().unwrap_or_default().as_bytes());
    json!({
        "version": found.version.as_str(),
        "fallback": found.fallback.is_some(),
        "code": found.code.map(FailureCode::as_str),
    })
}

fn signature_input(envelope: &Value) -> Option<Value> {
    let envelope = aee::parse(envelope.to_string().as_bytes()).ok()?;
    let signed = String::from_utf8(envelope.signature_input().ok()?).ok()?;
    Some(json!({ "signed": signed }))
}

fn bundle(deltas: &Value) -> Option<Value> {
    let mut bundle = Bundle::new();
    let mut digests = Vec::new();
    for delta in deltas.as_array()? {
        let delta: &Map<String, Value> = delta.as_object()?;
        bundle.apply(delta).ok()?;
        digests.push(bundle.digest());
    }
    Some(json!({"digests": digests, "after": bundle.as_value()}))
}
