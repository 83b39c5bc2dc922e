//! OL's constraints: what AO learned not to do, kept in `.ol/constraints/quarantine.json`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::aee::judge;
use crate::aee::shape::CONFIDENCE;
use crate::bridge::candidate::{self, KnowledgeType, LearningCandidate};
use crate::bridge::{VERSIONS, learning, markdown};
use crate::finding::Findings;
use crate::json::{Map, Value};
use crate::shape::{
    List, NON_BLANK, Object, Shape, TEXT, UNBOUNDED, Unknown, check as shape_check, optional, required,
};
use crate::verdict::Verdict;

const KIND: &str = "quarantine";

/// The status a new constraint starts with.
pub const PROPOSED: &str = "proposed";
const STATUSES: [&str; 4] = [PROPOSED, "active", "retired", "rejected"];

/// How much a constraint is trusted by default.
pub const CONFIDENCE_DEFAULT: f64 = 0.5;

#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// What to look out for, in a few words.
    pub pattern: String,
    /// How to tell that it happened.
    pub detection: String,
    pub test_template: Option<String>,
    /// Where it comes from; constraints are merged by it.
    pub source: Option<String>,
    pub confidence: Option<f64>,
    pub status: Option<String>,
    /// Fields this version does not know; they are kept.
    pub extra: Map<String, Value>,
}

pub static CONSTRAINT: Object = Object {
    name: "bridge_constraint",
    about: "An error that must not be repeated.",
    fields: &[
        required("pattern", NON_BLANK, ""),
        required("detection", TEXT, ""),
        optional("test_template", TEXT, ""),
        optional("source", TEXT, ""),
        optional("confidence", CONFIDENCE, ""),
        optional("status", TEXT, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

pub static CONSTRAINTS: List = List { item: Shape::Object(&CONSTRAINT), min: 0, max: UNBOUNDED };

/// A quarantine file that says its version; most are a bare list.
pub static QUARANTINE: Object = Object {
    name: "bridge_quarantine",
    about: "Constraints, each to be confirmed.",
    fields: &[
        optional("schema_version", Shape::Integer { min: 1, max: 1 }, ""),
        required("constraints", Shape::List(&CONSTRAINTS), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates a quarantine file: a bare list, or an object with a version and the list.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read(KIND, bytes) {
        Ok(document) => verdict(&document, strict),
        Err(refused) => *refused,
    }
}

/// Reads a quarantine file, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<Vec<Constraint>, Box<Verdict>> {
    let document = judge::read(KIND, bytes)?;
    let verdict = verdict(&document, false);
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    let list = match document {
        Value::Object(mut fields) => fields.remove("constraints").unwrap_or_default(),
        list => list,
    };
    let Value::Array(items) = list else { unreachable!("BUG: it was checked to be a list") };
    Ok(items.into_iter().map(read).collect())
}

fn verdict(document: &Value, strict: bool) -> Verdict {
    let mut findings = Findings::default();
    let (list, place) = match document {
        Value::Object(fields) => (fields.get("constraints").unwrap_or(&Value::Null), "$.constraints"),
        list => (list, "$"),
    };
    let version = document.get("schema_version").and_then(Value::as_i64).unwrap_or(*VERSIONS.end());
    if !VERSIONS.contains(&version) {
        let message = format!("only version {} is known; this is {version}", VERSIONS.end());
        findings.push("$.schema_version", "version", message);
    }
    let shape = if document.is_object() { Shape::Object(&QUARANTINE) } else { Shape::List(&CONSTRAINTS) };
    judge::absorb(&mut findings, "$", shape_check::check(&shape, document, strict));
    let mut warnings = Findings::default();
    for (index, item) in list.as_array().into_iter().flatten().enumerate() {
        let status = item.get("status").and_then(Value::as_str);
        if status.is_some_and(|word| !STATUSES.contains(&word)) {
            let message = format!("should be one of {}", STATUSES.join(", "));
            warnings.push(format!("{place}[{index}].status"), "status", message);
        }
    }
    judge::rule(KIND, "quarantine valid", findings, warnings)
}

/// Reads an item that has no faults.
fn read(item: Value) -> Constraint {
    let Value::Object(mut fields) = item else { unreachable!("BUG: it was checked to be an object") };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (pattern, detection) = (text("pattern").unwrap_or_default(), text("detection").unwrap_or_default());
    let (test_template, source, status) = (text("test_template"), text("source"), text("status"));
    let confidence = fields.remove("confidence").as_ref().and_then(Value::as_f64);
    Constraint { pattern, detection, test_template, source, confidence, status, extra: fields }
}

impl Serialize for Constraint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pattern", &self.pattern)?;
        map.serialize_entry("detection", &self.detection)?;
        for (name, text) in
            [("test_template", &self.test_template), ("source", &self.source), ("status", &self.status)]
        {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        if let Some(confidence) = self.confidence {
            map.serialize_entry("confidence", &confidence)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Constraint {
    /// The constraint in a candidate. `None` if it contains no warning or is no longer current.
    pub fn from_candidate(candidate: &LearningCandidate) -> Option<Self> {
        let warns = candidate.kind == KnowledgeType::Failure || candidate.maturity == candidate::ANTI_PATTERN;
        let superseded = candidate.extra.get("superseded_by").and_then(Value::as_str);
        if !warns || !candidate.is_current || superseded.is_some_and(|id| !id.is_empty()) {
            return None;
        }
        Some(Self {
            pattern: pattern(&candidate.content),
            detection: candidate.context.clone(),
            test_template: Some(String::new()),
            source: Some(format!("ao-learning-{}", candidate.id)),
            confidence: Some(candidate.confidence.unwrap_or(CONFIDENCE_DEFAULT)),
            status: Some(PROPOSED.to_owned()),
            extra: Map::new(),
        })
    }

    /// Whether it contains the words, ignoring case. An empty query matches everything.
    pub fn mentions(&self, words: &str) -> bool {
        let text = format!("{} {}", self.pattern, self.detection).to_lowercase();
        text.contains(&words.to_lowercase())
    }
}

/// The whole heading without its type prefix; of a longer text, the first sentence.
fn pattern(content: &str) -> String {
    const TITLE_CHARS_MAX: usize = 120;
    let title = learning::without_prefix(content);
    let is_title = title.chars().count() <= TITLE_CHARS_MAX && !title.contains('\n');
    if is_title { title.to_owned() } else { markdown::first_sentence(title).to_owned() }
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub constraints: Vec<Constraint>,
    pub added: usize,
    pub updated: usize,
    pub unchanged: usize,
}

/// Merges new constraints into a file's. Known ones, identified by their source, are updated in place and
/// keep the status, the test and all other fields that OL has set; nothing is ever removed.
pub fn merge(mut existing: Vec<Constraint>, incoming: Vec<Constraint>) -> Merged {
    let (mut added, mut updated, mut unchanged) = (0, 0, 0);
    for new in incoming {
        let known = existing.iter_mut().find(|old| old.source.is_some() && old.source == new.source);
        let Some(old) = known else {
            existing.push(new);
            added += 1;
            continue;
        };
        let before = old.clone();
        (old.pattern, old.detection, old.confidence) = (new.pattern, new.detection, new.confidence);
        if *old == before { unchanged += 1 } else { updated += 1 }
    }
    Merged { constraints: existing, added, updated, unchanged }
}

/// The section that is shown to an agent.
pub fn markdown<'c>(constraints: impl IntoIterator<Item = &'c Constraint>) -> String {
    let lines: Vec<String> = constraints
        .into_iter()
        .map(|constraint| {
            format!("- **[olympus constraint]** {}: {}\n", constraint.pattern, constraint.detection)
        })
        .collect();
    format!("### Olympus Constraints\n{}", lines.concat())
}

#[cfg(test)]
mod tests;
