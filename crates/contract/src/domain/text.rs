//! Short texts that name something: one line, bounded.

use super::code::ErrorCode;
use super::task::Refusal;
use crate::secrets;

/// A number of things: `1 task`, `2 tasks`.
pub fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The text, if it is one line that is not blank and has at most `max` bytes.
pub fn one_line<'t>(what: &str, text: &'t str, max: usize) -> Result<&'t str, Refusal> {
    let refused = |code, message: String| Err(Refusal::new(code, message));
    if text.trim().is_empty() {
        return refused(ErrorCode::InvalidInput, format!("{what} is required"));
    }
    if text.len() > max {
        let message = format!("{what} has {} bytes; the limit is {max}", text.len());
        return refused(ErrorCode::TooLarge, message);
    }
    if text.chars().any(char::is_control) {
        return refused(ErrorCode::InvalidInput, format!("{what} has control characters"));
    }
    Ok(text)
}

/// The beginning of a text, quoted for a message.
pub fn quoted(text: &str) -> String {
    format!("'{}'", beginning(text))
}

/// The beginning of a text, for a message that does not quote it. Secrets are taken out before it is cut.
pub fn beginning(text: &str) -> String {
    const SHOWN: usize = 64;
    let text = &*secrets::scrub(text);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// At most so many characters of a text, for a message. A part of a secret would not be recognized afterwards.
pub fn cut(text: &str, characters: usize) -> String {
    secrets::scrub(text).chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_short() {
        assert_eq!(quoted("abc"), "'abc'");
        assert_eq!(quoted(&"ä".repeat(64)), format!("'{}'", "ä".repeat(64)));
        assert_eq!(quoted(&"ä".repeat(65)), format!("'{}…'", "ä".repeat(64)));
    }
}
