//! Reads log lines: whole envelopes, or the five-field subset, which is not allowed in messages.

use crate::aee::check::{check, read};
use crate::aee::{Envelope, Type, judge};
use crate::finding::{Finding, Findings};
use crate::json::{Map, Value};
use crate::verdict::Verdict;

/// One line of a log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogLine {
    Whole(Box<Envelope>),
    Short(Short),
}

/// The five-field subset of an envelope. It cannot be answered or correlated.
#[derive(Debug, Clone, PartialEq)]
pub struct Short {
    pub id: String,
    pub kind: Type,
    pub from: String,
    pub intent: String,
    /// All other fields of the line.
    pub extra: Map<String, Value>,
}

const KIND: &str = "aee_log_line";
const REQUIRED: [&str; 5] = ["v", "id", "type", "from", "intent"];

/// Reads one line: a whole envelope where it is one, otherwise its five fields.
pub fn parse_line(line: &[u8]) -> Result<LogLine, Box<Verdict>> {
    let document = judge::read_object(KIND, line)?;
    let found = check(&document);
    if found.is_empty() {
        return Ok(LogLine::Whole(Box::new(read(document))));
    }
    let mut faults = Findings::default();
    for finding in found.iter().filter(|finding| !may_be_absent(finding)) {
        faults.push(finding.path.as_str(), finding.rule, finding.message.as_str());
    }
    if faults.is_empty() {
        return Ok(LogLine::Short(short(document)));
    }
    Err(Box::new(judge::rule(KIND, "log line valid", faults, Findings::default())))
}

/// Fields beyond the five are optional; if present, they must be valid.
fn may_be_absent(finding: &Finding) -> bool {
    let name = finding.path.strip_prefix("$.").unwrap_or_default();
    finding.rule == "missing" && !REQUIRED.contains(&name) && !name.contains('.')
}

/// Reads a line whose five fields are valid.
fn short(document: Value) -> Short {
    let Value::Object(mut line) = document else { unreachable!("BUG: the line was checked to be an object") };
    line.remove("v");
    let mut text = |name: &str| match line.remove(name) {
        Some(Value::String(text)) => text,
        _ => unreachable!("BUG: `{name}` was checked to be text"),
    };
    let (id, kind, from, intent) = (text("id"), text("type"), text("from"), text("intent"));
    let kind = Type::parse(&kind).expect("BUG: the type was checked");
    Short { id, kind, from, intent, extra: line }
}

#[cfg(test)]
mod tests;
