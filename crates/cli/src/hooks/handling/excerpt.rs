//! Short parts of what agents and tools wrote, as they are stored: without secrets and without control characters.

use std::borrow::Cow;

use contract::secrets;
use serde_json::Value;

/// How much of a text is searched for secrets. A cut through the middle of one would hide it from the search, so this
/// is far more than any excerpt keeps.
const SEARCHED_BYTES_MAX: usize = 64 * 1024;
const ELLIPSIS: &str = " … ";
/// Words of lines that say why something failed.
const TELLING: [&str; 14] = [
    "error:",
    "error[",
    "error ",
    "panicked at",
    "failed",
    "fatal:",
    "exception",
    "assert",
    "not found",
    "no such file",
    "denied",
    "cannot ",
    "undefined",
    "expected",
];

/// The first characters of a text, on one line.
pub(super) fn line(text: &str, chars: usize) -> String {
    let clean = secrets::scrub(begin(text, SEARCHED_BYTES_MAX));
    let plain: String = clean.chars().filter_map(on_one_line).collect();
    plain.trim().chars().take(chars).collect()
}

/// The first characters of a text, with its lines.
pub(super) fn head(text: &str, chars: usize) -> String {
    secrets::scrub(begin(text, SEARCHED_BYTES_MAX)).chars().filter(|c| is_plain(*c)).take(chars).collect()
}

/// The beginning and the end of a text that is too long.
pub(super) fn ends(text: &str, chars: usize) -> String {
    let all = plain(text);
    let count = all.chars().count();
    if count <= chars {
        return all;
    }
    // What a message concludes with says more than how it begins.
    let first = chars / 3;
    let last = chars - first - ELLIPSIS.chars().count();
    let begin: String = all.chars().take(first).collect();
    let end: String = all.chars().skip(count - last).collect();
    format!("{begin}{ELLIPSIS}{end}")
}

/// The beginning of a value, in so many bytes.
pub(super) fn preview(value: Option<&Value>, bytes: usize) -> String {
    let text = text_of(value);
    let clean: String =
        secrets::scrub(begin(&text, SEARCHED_BYTES_MAX)).chars().filter(|c| is_plain(*c)).collect();
    begin(&clean, bytes).to_owned()
}

/// The end of a text, in so many bytes: tools say last why they failed.
pub(super) fn tail(text: &str, bytes: usize) -> String {
    let clean: String =
        secrets::scrub(end(text, SEARCHED_BYTES_MAX)).chars().filter(|c| is_plain(*c)).collect();
    end(&clean, bytes).to_owned()
}

/// The line of a failed tool's output that says most about the failure: the first that names an error, else the last.
pub(super) fn telling_line(output: &str, chars: usize) -> Option<String> {
    let clean = secrets::scrub(end(output, SEARCHED_BYTES_MAX));
    let lines = || clean.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
    let names_error = |text: &&str| {
        let lower = text.to_lowercase();
        TELLING.iter().any(|word| lower.contains(word))
    };
    let chosen = lines().find(names_error).or_else(|| lines().next_back())?;
    Some(line(chosen, chars))
}

/// A value as text: a text as it is, anything else as JSON.
pub(super) fn text_of(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(other) => Cow::Owned(other.to_string()),
    }
}

fn plain(text: &str) -> String {
    if text.len() <= SEARCHED_BYTES_MAX {
        return secrets::scrub(text).chars().filter(|c| is_plain(*c)).collect();
    }
    // Only the two ends are kept, so only they are searched.
    let half = SEARCHED_BYTES_MAX / 2;
    let parts = [begin(text, half), end(text, half)].map(secrets::scrub);
    parts.join(ELLIPSIS).chars().filter(|c| is_plain(*c)).collect()
}

fn on_one_line(c: char) -> Option<char> {
    if matches!(c, '\n' | '\t' | '\r') { Some(' ') } else { Some(c).filter(|c| is_plain(*c)) }
}

/// Whether a terminal shows the character and obeys nothing in it.
fn is_plain(c: char) -> bool {
    let is_bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || is_bidi)
}

fn begin(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn end(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests;
