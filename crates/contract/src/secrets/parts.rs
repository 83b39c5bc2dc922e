//! A private key in parts: a list of its lines, or fields beside each other. Alone, no part of its body looks like more
//! than random text.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

/// The name of the rule.
pub(super) const RULE: &str = super::RULES[super::PRIVATE_KEY_BLOCK].name;

/// How deep below a list or an object the parts may be: a line may be an object of its own.
const DEPTH_MAX: usize = 2;
/// A shorter text is not taken for the body of a key.
pub(super) const BODY_BYTES_MIN: usize = 16;
/// Text of so many letters and digits is no word, even if they are all of one kind.
const WORD_BYTES_MAX: usize = 40;

/// Whether any text of the value mentions the first or the last line of a private key. Most do not, and need no more.
pub(super) fn are_possible(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("PRIVATE KEY-----"),
        Value::Array(items) => items.iter().any(are_possible),
        Value::Object(fields) => fields.values().any(are_possible),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a list or an object holds the first or last line of a key, and another text that may be of its body.
pub(super) fn are_in(value: &Value) -> bool {
    any_text(value, DEPTH_MAX, &is_edge) && any_text(value, DEPTH_MAX, &is_body)
}

/// Whether a text beside such a line is a part of the key.
pub(super) fn is_part(text: &str) -> bool {
    is_edge(text) || is_body(text)
}

/// Whether this is the last line of a body, which may be short, before the line that ends the key.
pub(super) fn is_last(item: &Value, next: Option<&Value>) -> bool {
    let (Some(text), Some(next)) = (item.as_str(), next.and_then(Value::as_str)) else { return false };
    let ends = edges(next).is_some_and(|(first, _)| first == "END");
    ends && !text.trim().is_empty() && text.trim().bytes().all(is_base64)
}

fn any_text(value: &Value, depth: usize, wanted: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => wanted(text),
        Value::Array(items) => depth > 0 && items.iter().any(|item| any_text(item, depth - 1, wanted)),
        Value::Object(fields) => depth > 0 && fields.values().any(|field| any_text(field, depth - 1, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a key begins in the text and does not end in it, or ends in it and does not begin in it.
fn is_edge(text: &str) -> bool {
    edges(text).is_some_and(|(first, last)| first == "END" || last == "BEGIN")
}

/// The words of the first and the last line of a key that a text has: `BEGIN` or `END`.
pub(super) fn edges(text: &str) -> Option<(&str, &str)> {
    static EDGE: OnceLock<Regex> = OnceLock::new();
    if !text.contains("PRIVATE KEY-----") {
        return None;
    }
    let edge = EDGE.get_or_init(|| {
        Regex::new("-----(BEGIN|END) [A-Z0-9 ]*PRIVATE KEY-----").expect("BUG: the expression is valid")
    });
    let mut words = edge.captures_iter(text).map(|found| found.extract::<1>().1[0]);
    let first = words.next()?;
    Some((first, words.last().unwrap_or(first)))
}

fn is_body(text: &str) -> bool {
    let mut lines = text.split_whitespace().peekable();
    lines.peek().is_some() && lines.all(is_body_line)
}

fn is_body_line(line: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| line.as_bytes().iter().any(kind);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    line.len() >= BODY_BYTES_MIN && (is_mixed || line.len() >= WORD_BYTES_MAX) && line.bytes().all(is_base64)
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}
