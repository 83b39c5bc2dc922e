//! Secrets that no pattern recognizes: the values of `env:NAME`. They are never stored or shown.

use std::borrow::Cow;

use contract::secrets;

/// Shorter values are words like `1` or `true`; hiding them would make every output unreadable.
const VALUE_BYTES_MIN: usize = 6;

/// The secret values that one child was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hidden(Vec<String>);

impl Hidden {
    pub(crate) fn add(&mut self, value: &str) {
        if value.len() >= VALUE_BYTES_MIN {
            self.0.push(value.to_owned());
        }
    }

    /// The text without these values, and without anything that looks like a secret.
    pub(crate) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut result = Cow::Borrowed(text);
        for value in &self.0 {
            if result.contains(value.as_str()) {
                result = Cow::Owned(result.replace(value.as_str(), "[REDACTED:env]"));
            }
        }
        match result {
            Cow::Borrowed(text) => secrets::scrub(text),
            Cow::Owned(text) => Cow::Owned(secrets::scrub(&text).into_owned()),
        }
    }

    /// The cleaned text on one line, without characters that control a terminal.
    pub(crate) fn one_line(&self, text: &str) -> String {
        self.clean(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
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
}
