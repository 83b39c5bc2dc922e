//! AO's knowledge candidate, with its source and how far it is trusted.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::aee::judge;
use crate::aee::shape::CONFIDENCE;
use crate::json::{Map, Value};
use crate::shape::{
    Described, NON_BLANK, Object, Shape, TEXT, TEXTS, TIME, Unknown, optional, required, words,
};
use crate::verdict::Verdict;

const KIND: &str = "candidate";

words! {
    /// What kind of knowledge it is.
    KnowledgeType {
        Decision = "decision",
        Solution = "solution",
        Learning = "learning",
        /// An error that must not be repeated.
        Failure = "failure",
        Reference = "reference",
    }
}

pub const TIERS: &[&str] = &["gold", "silver", "bronze", "discard"];
pub const MATURITIES: &[&str] = &["provisional", "candidate", "established", "anti-pattern"];

/// Knowledge that turned out to do harm.
pub const ANTI_PATTERN: &str = "anti-pattern";

#[derive(Debug, Clone, PartialEq)]
pub struct LearningCandidate {
    pub id: String,
    pub kind: KnowledgeType,
    /// The title or first sentence.
    pub content: String,
    /// The full description.
    pub context: String,
    pub source: Source,
    /// RFC 3339, as it arrived.
    pub extracted_at: String,
    pub metadata: Map<String, Value>,
    pub is_current: bool,
    pub utility: f64,
    pub maturity: String,
    pub tier: String,
    pub confidence: Option<f64>,
    /// Counters and dates that only AO uses; they are passed on unchanged.
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    pub transcript_path: String,
    pub message_index: i64,
    pub timestamp: String,
    pub session_id: String,
}

pub static CANDIDATE: Object = Object {
    name: "bridge_candidate",
    about: "A knowledge candidate.",
    fields: &[
        required("id", NON_BLANK, ""),
        required("type", KnowledgeType::SHAPE, ""),
        required("content", NON_BLANK, ""),
        optional("context", TEXT, ""),
        required("source", Shape::Object(&SOURCE), ""),
        required("extracted_at", TIME, ""),
        optional("metadata", Shape::Nullable(&Shape::AnyObject), ""),
        required("is_current", Shape::Bool, "False once something replaced it."),
        optional("superseded_by", TEXT, ""),
        optional("supersedes", Shape::Either(&[TEXT, TEXTS]), ""),
        optional("utility", CONFIDENCE, ""),
        optional("confidence", CONFIDENCE, ""),
        optional("maturity", Shape::Word(MATURITIES), ""),
        optional("tier", Shape::Word(TIERS), ""),
    ],
    unknown: Unknown::Kept,
};

static SOURCE: Object = Object {
    name: "bridge_candidate_source",
    about: "",
    fields: &[
        optional("transcript_path", TEXT, ""),
        optional("message_index", Shape::Integer { min: i64::MIN, max: i64::MAX }, ""),
        optional("timestamp", TEXT, ""),
        optional("session_id", TEXT, ""),
    ],
    unknown: Unknown::Kept,
};

/// The default of the contract's table.
pub const UTILITY_DEFAULT: f64 = 0.5;
pub const MATURITY_DEFAULT: &str = "provisional";
pub const TIER_DEFAULT: &str = "bronze";

/// Validates one candidate. Its other fields belong to AO and are not checked.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => verdict(&document, strict),
        Err(refused) => *refused,
    }
}

/// Reads one candidate, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<LearningCandidate, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    let verdict = verdict(&document, false);
    if verdict.allow { Ok(read(document)) } else { Err(Box::new(verdict)) }
}

fn verdict(document: &Value, strict: bool) -> Verdict {
    let findings = judge::check(&CANDIDATE, document, strict);
    judge::rule(KIND, "candidate valid", findings, crate::finding::Findings::default())
}

/// Reads a document that has no faults.
fn read(document: Value) -> LearningCandidate {
    let Value::Object(mut fields) = document else { unreachable!("BUG: it was checked to be an object") };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let word = |text: Option<String>| text.expect("BUG: a required text was checked");
    let (id, kind, extracted_at) = (word(text("id")), word(text("type")), word(text("extracted_at")));
    let content = word(text("content"));
    let description = text("context").unwrap_or_default();
    let maturity = text("maturity").unwrap_or_else(|| MATURITY_DEFAULT.to_owned());
    let tier = text("tier").unwrap_or_else(|| TIER_DEFAULT.to_owned());
    let number = |value: Option<Value>| value.as_ref().and_then(Value::as_f64);
    LearningCandidate {
        id,
        kind: KnowledgeType::parse(&kind).expect("BUG: the type was checked"),
        content,
        context: description,
        source: fields.remove("source").and_then(|s| serde_json::from_value(s).ok()).unwrap_or_default(),
        extracted_at,
        metadata: match fields.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        },
        is_current: fields.remove("is_current") == Some(Value::Bool(true)),
        utility: number(fields.remove("utility")).unwrap_or(UTILITY_DEFAULT),
        maturity,
        tier,
        confidence: number(fields.remove("confidence")),
        extra: fields,
    }
}

impl Serialize for LearningCandidate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("content", &self.content)?;
        map.serialize_entry("context", &self.context)?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("extracted_at", &self.extracted_at)?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("is_current", &self.is_current)?;
        map.serialize_entry("utility", &self.utility)?;
        map.serialize_entry("maturity", &self.maturity)?;
        map.serialize_entry("tier", &self.tier)?;
        if let Some(confidence) = self.confidence {
            map.serialize_entry("confidence", &confidence)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
