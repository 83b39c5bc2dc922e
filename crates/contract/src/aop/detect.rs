//! Distinguishes v2 messages, v1 prompts and free text, and prepares the fallback of an invalid v2 message.

use serde_json::Value;

use super::extra::Requirements;
use super::fallback::Fallback;
use super::judge::{self, Expected};
use super::{ANY, header, limits, v1};
use crate::domain::failure_code::FailureCode;
use crate::json::strict;
use crate::shape::words;

words! {
    Version { V2 = "v2", V1 = "v1", Unstructured = "unstructured" }
}

/// What the input is.
#[derive(Debug, Clone, PartialEq)]
pub struct Detected {
    pub version: Version,
    /// Why the input is not accepted as v2; `None` for valid v2 and for a v1 prompt.
    pub code: Option<FailureCode>,
    /// For a v2 message that does not match its schema: the event to send and the prompt to use instead.
    pub fallback: Option<Fallback>,
}

impl Detected {
    fn plain(version: Version, code: Option<FailureCode>) -> Self {
        Self { version, code, fallback: None }
    }
}

pub fn detect(bytes: &[u8]) -> Detected {
    if bytes.len() > limits::bytes_max(None) {
        return Detected::plain(Version::Unstructured, Some(FailureCode::ContextOverflow));
    }
    match strict::parse(bytes) {
        Ok(value) if value["aop_version"].as_str().is_some_and(header::is_v2) => detect_v2(bytes, &value),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) if v1::is_v1(text) => Detected::plain(Version::V1, None),
            _ => Detected::plain(Version::Unstructured, Some(FailureCode::ParseFailure)),
        },
    }
}

/// A message over a hard limit gets no fallback: another form would not make it smaller.
fn detect_v2(bytes: &[u8], value: &Value) -> Detected {
    let requirements = Requirements::of(None);
    match judge::judge(bytes, Expected { wanted: ANY, strict: false, requirements }) {
        Ok(_) => Detected::plain(Version::V2, None),
        Err(verdict) if verdict.code == FailureCode::ContextOverflow.as_str() => {
            Detected::plain(Version::V2, Some(FailureCode::ContextOverflow))
        }
        Err(verdict) => Detected {
            version: Version::V1,
            code: Some(FailureCode::read(&verdict.code)),
            fallback: Some(Fallback::from_refusal(bytes, value, &verdict)),
        },
    }
}

#[cfg(test)]
mod tests;
