//! Text of others made visible: a terminal obeys none of it, and nothing in it is hidden from a reader.

use std::borrow::Cow;

/// Text with everything written out that a terminal would obey or hide, except line breaks and tabs. The form is that
/// of JSON, so that printed JSON still means the same.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        if is_obeyed(c) { write_out(c, &mut shown) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// What others wrote, as a part of one line: a line break in it would look like one more row of ours.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| breaks_a_row(c) || is_obeyed(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_obeyed(c) => write_out(c, &mut shown),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn breaks_a_row(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

fn write_out(c: char, shown: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        shown.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Control characters except line breaks and tabs, those that turn the direction of a line, those without a width, and
/// other line breaks.
fn is_obeyed(c: char) -> bool {
    let turns =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    turns || hides || breaks || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests;
