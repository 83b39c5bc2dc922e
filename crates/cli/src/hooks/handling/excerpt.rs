//! Short parts of what agents and tools wrote, as they are stored: without secrets and without control characters.

use std::borrow::Cow;

use contract::secrets;
use serde_json::Value;

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
    let clean: String = plain(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.trim().chars().take(chars).collect()
}

/// The first characters of a text, with its lines.
pub(super) fn head(text: &str, chars: usize) -> String {
    plain(text).chars().take(chars).collect()
}

/// The beginning and the end of a text that is too long.
pub(super) fn ends(text: &str, chars: usize) -> String {
    let all = plain(text);
    let count = all.chars().count();
    if count <= chars {
        return all;
    }
    // The end of a message is more informative than its beginning.
    let first = chars / 3;
    let last = chars - first - ELLIPSIS.chars().count();
    let begin: String = all.chars().take(first).collect();
    let end: String = all.chars().skip(count - last).collect();
    format!("{begin}{ELLIPSIS}{end}")
}

/// The beginning of a value, in so many bytes.
pub(super) fn preview(value: Option<&Value>, bytes: usize) -> String {
    begin(&plain(&text_of(value)), bytes).to_owned()
}

/// The end of a text, in so many bytes: tools say last why they failed.
pub(super) fn tail(text: &str, bytes: usize) -> String {
    end(&plain(text), bytes).to_owned()
}

/// The most informative line of a failed tool's output: the first that names an error, else the last.
pub(super) fn telling_line(output: &str, chars: usize) -> Option<String> {
    let clean = plain(output);
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

/// The whole text: without what a terminal would obey, then without secrets. In this order, because a character that is
/// taken out could have hidden a secret; and before anything is cut, because a cut could too.
fn plain(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let shown: String = lines.chars().filter(|c| is_plain(*c)).collect();
    match secrets::scrub(&shown) {
        Cow::Borrowed(_) => shown,
        Cow::Owned(clean) => clean,
    }
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
