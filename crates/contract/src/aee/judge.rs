//! Turns findings into one verdict, with the codes and the precedence that all validators here share.

use crate::domain::limits;
use crate::finding::{Finding, Findings};
use crate::json::{Value, strict};
use crate::shape::{Object, Shape, check as shape_check};
use crate::verdict::Verdict;

const SCHEMA_INVALID: &str = "SCHEMA_INVALID";

/// Reads one JSON object, or explains why the bytes are not one.
pub(crate) fn read_object(kind: &str, bytes: &[u8]) -> Result<Value, Box<Verdict>> {
    read_object_within(kind, bytes, limits::DOCUMENT_BYTES_MAX)
}

/// The same, for documents of at most `most` bytes.
pub(crate) fn read_object_within(kind: &str, bytes: &[u8], most: usize) -> Result<Value, Box<Verdict>> {
    let document = read_within(kind, bytes, most)?;
    if document.is_object() {
        return Ok(document);
    }
    Err(refuse_whole(kind, "not_an_object", "the document must be an object"))
}

/// Reads one JSON value within the limits.
pub(crate) fn read(kind: &str, bytes: &[u8]) -> Result<Value, Box<Verdict>> {
    read_within(kind, bytes, limits::DOCUMENT_BYTES_MAX)
}

fn read_within(kind: &str, bytes: &[u8], most: usize) -> Result<Value, Box<Verdict>> {
    if bytes.len() > most {
        let message = format!("allows at most {most} bytes, has {}", crate::json::size(bytes));
        return Err(refuse_whole(kind, "too_large", message));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(refuse_whole(kind, "empty_input", "the document is empty"));
    }
    strict::parse(bytes).map_err(|error| {
        refuse_whole(
            kind,
            "json",
            format!("{} (line {}, column {})", error.message, error.line, error.column),
        )
    })
}

/// A refusal of the document as a whole.
pub(crate) fn refuse_whole(kind: &str, rule: &'static str, message: impl Into<String>) -> Box<Verdict> {
    let primary = Finding { path: "$".to_owned(), rule, message: message.into() };
    let mut findings = Findings::default();
    findings.push(primary.path.clone(), rule, primary.message.clone());
    Box::new(Verdict::denied(kind, SCHEMA_INVALID, &primary, findings, Findings::default()))
}

/// Allows a document without findings; otherwise the finding with the highest precedence decides.
pub(crate) fn rule(kind: &str, allowed: &str, findings: Findings, warnings: Findings) -> Verdict {
    let primary = findings.iter().min_by_key(|finding| (rank(finding), &finding.path)).cloned();
    match primary {
        None => Verdict::allowed(kind, allowed, warnings),
        Some(primary) => Verdict::denied(kind, code(&primary), &primary, findings, warnings),
    }
}

/// Version before missing fields, because another version may need other fields; then the rest.
fn rank(finding: &Finding) -> u8 {
    match finding.rule {
        "version" => 0,
        "missing" | "empty" => 1,
        "unknown_field" => 2,
        _ => 3,
    }
}

fn code(finding: &Finding) -> &'static str {
    match finding.rule {
        "version" => "UNKNOWN_SCHEMA_VERSION",
        // An incomplete list element is a fault of the list, not a missing input.
        "missing" | "empty" if !is_in_list(&finding.path) => "MISSING_REQUIRED_INPUT",
        _ => SCHEMA_INVALID,
    }
}

fn is_in_list(path: &str) -> bool {
    path.split('[').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Moves the findings of a part to its place in the whole: `$.a` found under `$.payload` is `$.payload.a`.
pub(crate) fn absorb(into: &mut Findings, place: &str, part: Findings) {
    into.omitted += part.omitted;
    for finding in part.sorted() {
        let rest = finding.path.strip_prefix('$').unwrap_or(&finding.path);
        into.push(format!("{place}{rest}"), finding.rule, finding.message);
    }
}

/// Checks a document against its shape. An empty text in a required field of the document itself is called
/// `empty`, and null there `missing`: in both cases the input was not given.
pub(crate) fn check(object: &'static Object, document: &Value, strict: bool) -> Findings {
    let found = shape_check::check(&Shape::Object(object), document, strict);
    let is_required = |name: &str| object.fields.iter().any(|field| field.required && field.name == name);
    let mut named = Findings::default();
    named.omitted = found.omitted;
    for finding in found.sorted() {
        let field = finding.path.strip_prefix("$.").filter(|name| is_required(name));
        match (field.and_then(|name| document.get(name)), field) {
            (Some(Value::Null), Some(name)) => {
                named.push(finding.path.as_str(), "missing", format!("`{name}` is required but null"));
            }
            (Some(Value::String(text)), Some(name)) if text.is_empty() => {
                named.push(finding.path.as_str(), "empty", format!("`{name}` must not be empty"));
            }
            _ => named.push(finding.path, finding.rule, finding.message),
        }
    }
    named
}
