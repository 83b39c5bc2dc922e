//! Stage-1 results of the deterministic checks of a worktree. Gate on `passed`, never on an exit code.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::aee::judge;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{NON_BLANK, document};
use crate::verdict::Verdict;

const KIND: &str = "stage1";

/// The operation that carries a result inside an envelope.
pub const OPERATION: &str = "validate.stage1.result";

document! {
    /// The results of the deterministic checks of a worktree.
    #[shape(name = "stage1_result", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Stage1Result {
        pub quest_id: String as NON_BLANK,
        pub bead_id: String as NON_BLANK,
        pub worktree: Option<String>,
        /// The gate.
        pub passed: bool,
        pub steps: Vec<Stage1Step>,
        pub summary: String,
    }
}

document! {
    #[shape(name = "stage1_step", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Stage1Step {
        pub name: String as NON_BLANK,
        pub exit_code: Option<i64>,
        pub passed: bool,
        // As Go prints it: `1m3.4s`.
        /// Such as 3.4s.
        pub duration: Option<String>,
    }
}

/// Validates a result, raw or in its envelope. `details.passed` has the result.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    let document = match judge::read_object(KIND, bytes) {
        Ok(document) => document,
        Err(refused) => return *refused,
    };
    let (result, place) = match unwrapped(&document, bytes) {
        Ok(found) => found,
        Err(refused) => return *refused,
    };
    let mut findings = Findings::default();
    judge::absorb(&mut findings, place, check(result, strict));
    let mut warnings = Findings::default();
    judge::absorb(&mut warnings, place, advice(result));
    let mut verdict = judge::rule(KIND, "stage-1 result valid", findings, warnings);
    if let Some(passed) = result.get("passed").and_then(Value::as_bool) {
        verdict.details.more.insert("passed".to_owned(), Value::from(passed));
    }
    verdict
}

/// Reads a result, raw or in its envelope. What cannot be read has not passed.
pub fn parse(bytes: &[u8]) -> Result<Stage1Result, Box<Verdict>> {
    let verdict = validate(bytes, false);
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    let document = judge::read_object(KIND, bytes)?;
    let (result, _) = unwrapped(&document, bytes)?;
    Stage1Result::deserialize(result).map_err(|error| judge::refuse_whole(KIND, "type", error.to_string()))
}

fn unwrapped<'d>(document: &'d Value, bytes: &[u8]) -> Result<(&'d Value, &'static str), Box<Verdict>> {
    if document.get("contract").is_none() {
        return Ok((document, "$"));
    }
    let envelope = super::envelope::validate(bytes, false);
    if !envelope.allow {
        return Err(Box::new(envelope));
    }
    Ok((document.get("payload").expect("BUG: a valid envelope has a payload"), "$.payload"))
}

/// The faults of a result that is already JSON.
pub fn check(result: &Value, strict: bool) -> Findings {
    let mut findings = judge::check(Stage1Result::OBJECT, result, strict);
    let steps = result.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, step) in steps.iter().enumerate() {
        let (passed, exit) = (step.get("passed") == Some(&Value::Bool(true)), step.get("exit_code"));
        if passed && exit.and_then(Value::as_i64).is_some_and(|code| code != 0) {
            findings.push(format!("$.steps[{index}]"), "inconsistent", "passed, but its exit code is not 0");
        }
        if result.get("passed") == Some(&Value::Bool(true)) && step.get("passed") == Some(&Value::Bool(false))
        {
            findings.push("$.passed", "inconsistent", format!("cannot be true: step {index} did not pass"));
        }
    }
    findings
}

fn advice(result: &Value) -> Findings {
    let mut warnings = Findings::default();
    if result.get("worktree").is_none() {
        warnings.push("$.worktree", "missing", "should name the worktree that was checked");
    }
    let steps = result.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if steps.is_empty() && result.get("passed") == Some(&Value::Bool(true)) {
        warnings.push("$.steps", "no_steps", "nothing was run");
    }
    for (index, step) in steps.iter().enumerate() {
        let duration = step.get("duration").and_then(Value::as_str);
        if duration.is_some_and(|text| go_duration(text).is_none()) {
            warnings.push(format!("$.steps[{index}].duration"), "form", "must be a duration such as 3.4s");
        }
    }
    warnings
}

impl Stage1Result {
    /// The first step that did not pass.
    pub fn failed_step(&self) -> Option<&Stage1Step> {
        self.steps.iter().find(|step| !step.passed)
    }
}

/// Reads a duration as Go prints it: `350ms`, `3.4s`, `1h2m3s`.
pub fn go_duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        total += number
            * match &rest[digits..unit_end] {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(total).ok() }
}

#[cfg(test)]
mod tests;
