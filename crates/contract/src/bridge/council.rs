//! Council verdicts, from written reports and from the JSON of one judge.

mod report;

pub use report::read_report;

use crate::aee::judge;
use crate::bridge::learning::text_of;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{Described, List, Object, Shape, TEXT, UNBOUNDED, Unknown, required, words};
use crate::verdict::Verdict;

const KIND: &str = "council";

words! {
    Outcome {
        Pass = "PASS",
        /// Goes on, with concerns.
        Warn = "WARN",
        /// Closes the gate.
        Fail = "FAIL",
    }
}

impl Outcome {
    pub fn opens_gate(self) -> bool {
        self != Outcome::Fail
    }
}

/// The joint verdict of several judges: all must pass, one failure is enough. `None` without judges.
pub fn consensus(outcomes: &[Outcome]) -> Option<Outcome> {
    if outcomes.is_empty() {
        None
    } else if outcomes.contains(&Outcome::Fail) {
        Some(Outcome::Fail)
    } else if outcomes.contains(&Outcome::Warn) {
        Some(Outcome::Warn)
    } else {
        Some(Outcome::Pass)
    }
}

/// The answer of one judge.
pub static JUDGEMENT: Object = Object {
    name: "council_judgement",
    about: "",
    fields: &[
        required("verdict", Outcome::SHAPE, ""),
        required("confidence", Shape::Word(&["HIGH", "MEDIUM", "LOW"]), ""),
        required("key_insight", TEXT, ""),
        required(
            "findings",
            Shape::List(&List { item: Shape::Object(&FINDING), min: 0, max: UNBOUNDED }),
            "",
        ),
        required("recommendation", TEXT, ""),
        required("schema_version", Shape::Integer { min: 1, max: 2 }, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static FINDING: Object = Object {
    name: "council_finding",
    about: "",
    fields: &[
        required("severity", Shape::Word(&["critical", "significant", "minor"]), ""),
        required("category", TEXT, ""),
        required("description", TEXT, ""),
        required("location", TEXT, ""),
        required("recommendation", TEXT, ""),
        required("fix", Shape::Nullable(&TEXT), ""),
        required("why", Shape::Nullable(&TEXT), ""),
        required("ref", Shape::Nullable(&TEXT), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates a report or the JSON of one judge: it must contain PASS, WARN or FAIL. `details.verdict` has the verdict.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return validate_judgement(bytes, strict);
    }
    let text = match text_of(KIND, bytes) {
        Ok(text) => text,
        Err(refused) => return *refused,
    };
    let outcome = read_report(text);
    let mut findings = Findings::default();
    if outcome.is_none() {
        findings.push("$.verdict", "missing", "no line says PASS, WARN or FAIL as the verdict");
    }
    with_outcome(judge::rule(KIND, "verdict found", findings, Findings::default()), outcome)
}

fn validate_judgement(bytes: &[u8], strict: bool) -> Verdict {
    let document = match judge::read_object(KIND, bytes) {
        Ok(document) => document,
        Err(refused) => return *refused,
    };
    let findings = judge::check(&JUDGEMENT, &document, strict);
    let outcome = document.get("verdict").and_then(Value::as_str).and_then(Outcome::parse);
    with_outcome(judge::rule(KIND, "judgement valid", findings, Findings::default()), outcome)
}

fn with_outcome(mut verdict: Verdict, outcome: Option<Outcome>) -> Verdict {
    let word = outcome.map_or("UNKNOWN", Outcome::as_str);
    verdict.details.more.insert("verdict".to_owned(), Value::from(word));
    verdict
}

#[cfg(test)]
mod tests;
