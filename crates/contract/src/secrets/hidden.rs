//! Secrets that no rule recognizes: the values of `env:NAME`. They are never stored or shown.

use std::borrow::Cow;
use std::fmt;

use super::scrub;

/// Shorter values are words like `1` or `true`; hiding them would make every output unreadable.
const VALUE_BYTES_MIN: usize = 6;

const MARKER: &str = "[REDACTED:env]";

/// The secret values that one child was given, in each form in which it is likely to print them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(Vec<String>);

/// Without the values.
impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({} values)", self.0.len())
    }
}

impl Hidden {
    /// Hides a value: as it is, each of its lines, and what they are inside a JSON string.
    pub fn add(&mut self, value: &str) {
        for text in std::iter::once(value).chain(value.lines().map(str::trim)) {
            let quoted = serde_json::Value::from(text).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            for form in [text, escaped] {
                if form.len() >= VALUE_BYTES_MIN && !self.0.iter().any(|known| known == form) {
                    self.0.push(form.to_owned());
                }
            }
        }
        // The whole is replaced before its lines.
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Hides what another one hides.
    pub fn add_all(&mut self, other: &Hidden) {
        self.0.extend(other.0.iter().filter(|value| !self.0.contains(value)).cloned().collect::<Vec<_>>());
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// The text without these values, and without anything that looks like a secret.
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.without_values(text) {
            Cow::Borrowed(text) => scrub(text),
            Cow::Owned(text) => Cow::Owned(scrub(&text).into_owned()),
        }
    }

    /// The same for a text that was brought into lower case, such as the name of a host.
    pub fn clean_lower(&self, text: &str) -> String {
        let mut result = text.to_owned();
        for value in self.0.iter().map(|value| value.to_ascii_lowercase()) {
            result = result.replace(&value, MARKER);
        }
        self.clean(&result).into_owned()
    }

    /// The cleaned text on one line, without characters that control a terminal.
    pub fn one_line(&self, text: &str) -> String {
        self.clean(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    pub(super) fn without_values<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut result = Cow::Borrowed(text);
        for value in &self.0 {
            if result.contains(value.as_str()) {
                result = Cow::Owned(result.replace(value.as_str(), MARKER));
            }
        }
        result
    }

    /// Where the end of `text` begins that may be the beginning of a value; its length if there is none.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        self.0.iter().map(|value| open_end_of(value.as_bytes(), text)).min().unwrap_or(text.len())
    }
}

fn open_end_of(value: &[u8], text: &[u8]) -> usize {
    // A value on one line does not begin in a line that has ended.
    if text.ends_with(b"\n") && !value.contains(&b'\n') {
        return text.len();
    }
    let from = (text.len() + 1).saturating_sub(value.len());
    let begins = |at: &usize| value.starts_with(&text[*at..]);
    (from..text.len()).find(begins).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_value_is_never_repeated() {
        let mut hidden = Hidden::default();
        hidden.add("correct horse");
        hidden.add("1");
        assert_eq!(hidden.clean("it is correct horse, 1 of 1"), "it is [REDACTED:env], 1 of 1");
        assert!(matches!(hidden.clean("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_value_of_several_lines_is_hidden_as_a_whole_line_by_line_and_inside_json() {
        let mut hidden = Hidden::default();
        hidden.add("first \"half\"\n  second half\n");
        for (said, clean) in [
            ("<first \"half\"\n  second half\n>", "<[REDACTED:env]>"),
            ("a| second half |b", "a| [REDACTED:env] |b"),
            (r#"{"m":"first \"half\"\n  second half\n"}"#, r#"{"m":"[REDACTED:env]"}"#),
            (r#"{"m":"first \"half\""}"#, r#"{"m":"[REDACTED:env]"}"#),
        ] {
            assert_eq!(hidden.clean(said), clean);
        }
    }

    #[test]
    fn debug_output_does_not_show_the_values() {
        let mut hidden = Hidden::default();
        hidden.add("correct horse");
        assert_eq!(format!("{hidden:?}"), "Hidden(1 values)");
    }

    #[test]
    fn the_beginning_of_a_value_is_seen_at_the_end_of_a_text() {
        let mut hidden = Hidden::default();
        hidden.add("one-two\nthree");
        for (text, at) in [("x one-two\n", 2), ("x one-two\nthr", 2), ("x one", 2), ("x one\n", 6), ("", 0)] {
            assert_eq!(hidden.open_end(text.as_bytes()), at, "{text:?}");
        }
    }
}
