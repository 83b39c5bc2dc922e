//! Reads a document, checks it against its shape, and maps the findings to the operator's rules.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ids::is_uuid_v4;
use super::options::Options;
use super::report::{FindingReport, leaf, scrub};
use super::rules::OperatorRule;
use crate::aee::judge;
use crate::domain::limits;
use crate::domain::text::cut;
use crate::finding::Finding;
use crate::secrets;
use crate::shape::{Object, Shape, check};
use crate::verdict::Verdict;

/// The only major version.
const MAJOR: &str = "1";

/// Reads one JSON object, or explains why the bytes are not one.
pub(super) fn read(kind: &str, bytes: &[u8]) -> Result<Value, Box<Verdict>> {
    read_within(kind, bytes, limits::DOCUMENT_BYTES_MAX)
}

/// The same, for documents of at most `most` bytes.
pub(super) fn read_within(kind: &str, bytes: &[u8], most: usize) -> Result<Value, Box<Verdict>> {
    judge::read_object_within(kind, bytes, most).map_err(|mut refusal| {
        scrub(&mut refusal);
        refusal
    })
}

/// A valid document as its type. The shapes accept only what the types can hold; if
/// that is ever untrue, the document is refused.
pub(super) fn typed<T: DeserializeOwned>(kind: &str, document: Value) -> Result<T, Box<Verdict>> {
    serde_json::from_value(document).map_err(|error| {
        let mut report = FindingReport::default();
        report.fault("$", OperatorRule::Type, error.to_string());
        Box::new(report.verdict(kind, ""))
    })
}

/// Checks the version and the shape. The shape of another version is not checked, because it may need other fields.
pub(super) fn structure(shape: &'static Object, document: &Value, options: &Options) -> FindingReport {
    let mut report = FindingReport::default();
    if let Some(version) = document.get("schema_version").filter(|version| !is_known(version)) {
        let message = match version {
            Value::String(_) => format!("the major version must be {MAJOR}, is {}", shown(version)),
            _ => format!("must be a string such as \"1.0.0\", is {}", shown(version)),
        };
        report.fault("$.schema_version", OperatorRule::SchemaVersion, message);
        return report;
    }
    // A missing field decides the verdict, so it is reported before the walk, which lists a limited number of faults.
    let missing = shape.fields.iter().filter(|field| field.required && document.get(field.name).is_none());
    let missing: Vec<String> = missing.map(|field| format!("$.{}", field.name)).collect();
    for path in &missing {
        report.fault(path.as_str(), OperatorRule::Missing, format!("`{}` is required", leaf(path)));
    }
    for finding in check::check(&Shape::Object(shape), document, options.strict).sorted() {
        if missing.contains(&finding.path) {
            continue;
        }
        let value = at(document, &finding.path);
        let rule = name(&finding, value);
        let message = match (rule, value) {
            (OperatorRule::Missing, Some(Value::Null)) => {
                format!("`{}` is required but null", leaf(&finding.path))
            }
            _ => unquoted(finding.message, value),
        };
        report.fault(finding.path, rule, message);
    }
    if options.strict {
        let run_id = document.get("run_id").and_then(Value::as_str).filter(|run_id| !is_uuid_v4(run_id));
        if run_id.is_some() {
            report.fault("$.run_id", OperatorRule::RunId, "must be a UUID of version 4");
        }
    }
    report
}

/// `1`, `1.0`, `1.7.2`. A version that is null or empty is missing, which the shape reports.
fn is_known(version: &Value) -> bool {
    let Value::String(version) = version else { return version.is_null() };
    if version.is_empty() {
        return true;
    }
    let mut parts = version.split('.');
    parts.next() == Some(MAJOR)
        && version.split('.').count() <= 3
        && parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if secrets::find(text).is_none() => {
            format!("`{}`", cut(text, 40))
        }
        Value::Number(number) => number.to_string(),
        _ => "something else".to_owned(),
    }
}

/// A value that contains a secret is not quoted, not even in part.
fn unquoted(message: String, value: Option<&Value>) -> String {
    let secret = value.and_then(Value::as_str).and_then(secrets::find);
    match (secret, message.split_once("; is `")) {
        (Some(_), Some((before, _))) => before.to_owned(),
        _ => message,
    }
}

/// Maps a finding of the shape to the operator's rule. A faulty list element is a fault of the list;
/// only a field of the document itself can be a missing input.
fn name(finding: &Finding, value: Option<&Value>) -> OperatorRule {
    let field = leaf(&finding.path);
    let in_list = is_in_list(&finding.path);
    let absent = |rule: OperatorRule| if in_list { OperatorRule::ItemField } else { rule };
    let is_blank = |value: &Value| value.as_str() == Some("");
    match finding.rule {
        "unknown_field" => OperatorRule::UnknownField,
        "missing" => absent(OperatorRule::Missing),
        "type" if value.is_some_and(Value::is_null) && !is_optional(field) => absent(OperatorRule::Missing),
        _ if !in_list && value.is_some_and(is_blank) && !is_optional(field) => OperatorRule::Empty,
        "max_items" if field == "notes_for_orchestrator" => OperatorRule::TooManyNotes,
        "max_length" | "max_items" => OperatorRule::TooLong,
        // A blank criterion counts as missing.
        "min_length" | "form" if field == "acceptance_criteria" => OperatorRule::Empty,
        other => match (rule_of(field, finding), other) {
            (Some(rule), _) => rule,
            (None, "min_length" | "form" | "min_items") => absent(OperatorRule::Empty),
            (None, "enum") => OperatorRule::Enum,
            (None, "minimum" | "maximum") => OperatorRule::Integer,
            (None, _) => absent(OperatorRule::Type),
        },
    }
}

/// Fields of one name have one rule, at any depth.
fn rule_of(field: &str, finding: &Finding) -> Option<OperatorRule> {
    let is_item = finding.path.ends_with(']');
    match field {
        "run_id" => Some(OperatorRule::RunId),
        "task_id" | "depends_on_task_id" => Some(OperatorRule::TaskRef),
        "dependencies" if is_item && finding.rule == "form" => Some(OperatorRule::TaskRef),
        "timestamp" | "generated_at" | "last_heartbeat_at" | "now" => Some(OperatorRule::Timestamp),
        "code" => Some(OperatorRule::UnknownCode),
        "timeout_seconds" | "heartbeat_interval_seconds" | "retry_after_ms" | "retry_count" | "version" => {
            Some(OperatorRule::Integer)
        }
        "x_expected_version" | "x_fencing_token" | "x_base_version" => Some(OperatorRule::Integer),
        "status" | "type" | "priority" | "kind" | "packet_type" | "required_output_schema" => {
            Some(OperatorRule::Enum)
        }
        "x_mode" | "x_intent" | "expects" => Some(OperatorRule::Enum),
        _ => None,
    }
}

/// Fields that may be left out; null in one of them is a value of the wrong type.
fn is_optional(field: &str) -> bool {
    let optional = ["generated_at", "priority", "evidence", "code", "timed_out", "retry_after_ms", "details"];
    field.starts_with("x_") || optional.contains(&field)
}

fn is_in_list(path: &str) -> bool {
    path.split('[').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The value at a finding's path; `None` if a name in it had to be quoted.
fn at<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    let steps = path.strip_prefix('$')?.split(['.', '[']).filter(|step| !step.is_empty());
    steps.into_iter().try_fold(document, |value, step| match step.strip_suffix(']') {
        Some(index) => value.get(index.parse::<usize>().ok()?),
        None => value.get(step),
    })
}

/// The texts in a list, with their index; other elements have been reported by the shape.
pub(super) fn texts(value: &Value) -> impl Iterator<Item = (usize, &str)> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_str()?)))
}

/// The objects in a list, with their index.
pub(super) fn objects(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().enumerate().filter(|(_, item)| item.is_object())
}
