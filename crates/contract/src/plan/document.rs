//! Detects the kind of a document: a plan, an AOP TASK or an AEE task.

use serde_json::Value;

use super::read;
use crate::domain::limits;
use crate::domain::run::DocumentKind;
use crate::finding::Findings;
use crate::json::strict;

/// A parsed document and its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub kind: DocumentKind,
    pub value: Value,
}

/// Reads bytes as JSON or TOML, within a size limit, and detects the kind from the content.
pub fn read(bytes: &[u8]) -> Result<Document, Findings> {
    if bytes.len() > limits::PLAN_BYTES_MAX {
        // The reader may have stopped at the limit, so the full length is not known here.
        let message = format!("is longer than the limit of {} bytes", limits::PLAN_BYTES_MAX);
        return Err(fault("too_large", message));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| place(&strict::invalid_utf8(bytes, error.valid_up_to())))?;
    let value = if text.trim_start().starts_with(['{', '[']) && !looks_like_toml_table(text) {
        strict::parse(bytes).map_err(|fault| place(&fault))?
    } else {
        read::toml_value(text).map_err(|fault| place(&fault))?
    };
    let kind = if value.get("aop_version").is_some() {
        DocumentKind::AopTask
    } else if value.get("v").is_some() && value.get("intent").is_some() {
        DocumentKind::AeeTask
    } else {
        DocumentKind::Plan
    };
    Ok(Document { kind, value })
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
