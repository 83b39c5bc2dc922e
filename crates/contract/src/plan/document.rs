//! Detects the kind of a document: a plan, AOP TASKs, an AEE task, or a prompt.

use std::path::Path;

use serde_json::Value;

use super::read;
use crate::aop::v1;
use crate::domain::failure_code::FailureCode;
use crate::domain::limits;
use crate::domain::run::DocumentKind;
use crate::finding::Findings;
use crate::json::strict;

/// A document by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanDocument {
    /// One object.
    Value { kind: DocumentKind, value: Value },
    /// Several AOP TASKs, as a JSON array or one per line.
    Tasks(Vec<Value>),
    /// Text for an agent: an AOP v1 prompt, or text without any structure.
    Prompt { text: String, is_v1: bool },
}

impl PlanDocument {
    pub fn kind(&self) -> DocumentKind {
        match self {
            PlanDocument::Value { kind, .. } => *kind,
            PlanDocument::Tasks(_) | PlanDocument::Prompt { .. } => DocumentKind::AopTask,
        }
    }
}

/// Why bytes are no document. The code is that of AOP, where they were meant to be a message of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentError {
    pub findings: Findings,
    pub code: Option<FailureCode>,
}

/// Reads bytes as JSON, TOML or a prompt, within a size limit. The kind is detected from the content; the name of the
/// file decides only whether text that is neither JSON nor TOML is a prompt.
pub fn read(bytes: &[u8], name: Option<&str>) -> Result<PlanDocument, DocumentError> {
    if bytes.len() > limits::PLAN_BYTES_MAX {
        // The reader may have stopped at the limit, so the full length is not known here.
        let message = format!("is longer than the limit of {} bytes", limits::PLAN_BYTES_MAX);
        return Err(DocumentError { findings: fault("too_large", message), code: None });
    }
    let is_text = names_text(name);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let malformed = strict::invalid_utf8(bytes, error.valid_up_to());
        DocumentError { findings: place(&malformed), code: is_text.then_some(FailureCode::ParseFailure) }
    })?;
    let parsed = if text.trim_start().starts_with(['{', '[']) && !looks_like_toml_table(text) {
        strict::parse(bytes)
    } else {
        read::toml_value(text)
    };
    match parsed {
        // Text of blanks and comments is TOML without a field, and so is an empty prompt.
        Ok(value) if is_text && value.as_object().is_some_and(serde_json::Map::is_empty) => prompt(text),
        Ok(value) => Ok(of_value(value)),
        Err(malformed) => {
            if let Some(tasks) = lines(text) {
                return Ok(PlanDocument::Tasks(tasks));
            }
            let is_v1 = v1::is_v1(text);
            if (is_text && !opens_like_a_plan(text)) || (is_v1 && may_be_prompt(text, name)) {
                return prompt(text);
            }
            let code = text.contains("\"aop_version\"").then_some(FailureCode::ParseFailure);
            Err(DocumentError { findings: place(&malformed), code })
        }
    }
}

fn of_value(value: Value) -> PlanDocument {
    let has = |name: &str| value.get(name).is_some();
    // What says that it is a message of AOP is judged as one, also without a version.
    let kind = if has("aop_version") || (has("protocol_family") && has("message_type")) {
        DocumentKind::AopTask
    } else if has("v") && has("intent") {
        DocumentKind::AeeTask
    } else {
        DocumentKind::Plan
    };
    match value {
        Value::Array(tasks) if is_message_list(&tasks) => PlanDocument::Tasks(tasks),
        value => PlanDocument::Value { kind, value },
    }
}

fn is_message_list(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|item| item.get("aop_version").is_some())
}

/// One message per line.
fn lines(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Option<Vec<Value>> = lines.map(|line| strict::parse(line.as_bytes()).ok()).collect();
    values.filter(|values| values.len() > 1 && is_message_list(values))
}

fn prompt(text: &str) -> Result<PlanDocument, DocumentError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        let findings = fault("empty", "is empty; a prompt says what to do".to_owned());
        return Err(DocumentError { findings, code: Some(FailureCode::ParseFailure) });
    }
    Ok(PlanDocument::Prompt { text: text.to_owned(), is_v1: v1::is_v1(text) })
}

fn extension(name: Option<&str>) -> Option<String> {
    Path::new(name?).extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase)
}

/// Whether the name is that of a file with text for people.
fn names_text(name: Option<&str>) -> bool {
    extension(name).is_some_and(|end| ["md", "markdown", "txt"].contains(&end.as_str()))
}

/// Whether text that reads like a v1 prompt is one. A plan may quote prompts and have a fault elsewhere.
fn may_be_prompt(text: &str, name: Option<&str>) -> bool {
    let is_data = |end: String| ["toml", "json", "ndjson", "yaml", "yml"].contains(&end.as_str());
    !extension(name).is_some_and(is_data) && !text.trim_start().starts_with('{') && !text.lines().any(is_toml)
}

/// Whether the first line that is no heading or comment is one of a plan in TOML.
fn opens_like_a_plan(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(is_toml)
}

/// Whether a line is a table header or sets a key.
fn is_toml(line: &str) -> bool {
    let line = line.trim();
    let is_key = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.\"".contains(c))
    };
    let table = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = table.map(|inner| inner.trim_start_matches('[').trim_end_matches(']').trim());
    inner.is_some_and(is_key) || line.split_once('=').is_some_and(|(key, _)| is_key(key.trim()))
}

/// A TOML file may start with a table header, which looks like a JSON list.
fn looks_like_toml_table(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or("").trim_end();
    line.starts_with('[') && line.ends_with(']') && strict::parse(text.as_bytes()).is_err()
}

fn place(malformed: &strict::Malformed) -> Findings {
    let message = match malformed.line {
        0 => malformed.message.clone(),
        line => format!("line {line}, column {}: {}", malformed.column, malformed.message),
    };
    fault("parse", message)
}

fn fault(rule: &'static str, message: String) -> Findings {
    let mut findings = Findings::default();
    findings.push("$", rule, message);
    findings
}

#[cfg(test)]
mod tests;
