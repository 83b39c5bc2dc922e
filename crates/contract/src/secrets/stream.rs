//! Scrubs a stream as a stream: a secret is found whatever the pieces it arrives in, and before anything is cut.

use std::fmt;
use std::sync::OnceLock;

use super::hidden::Hidden;
use super::{key_body, parts, scrub, spanning};
use crate::domain::limits::LINE_BYTES_MAX;

/// A secret without spaces is recognized from this many bytes at most.
const SECRET_BYTES_MAX: usize = 4 * 1024;
/// A key block without an end is taken for something else behind this many bytes. The longest keys in use have a
/// quarter of it.
const KEY_BLOCK_BYTES_MAX: usize = 64 * 1024;
/// The longest body of a key whose beginning was not seen. The longest keys in use have a quarter of it.
const KEY_BODY_BYTES_MAX: usize = 16 * 1024;
/// Long enough for the last line of a key block.
const LAST_LINE_BYTES_MAX: usize = 128;
/// How far back a line is looked at to see whether its value is on the next one.
const ASSIGNMENT_BYTES_MAX: usize = 256;

/// Scrubs one stream. Text is given out line by line, or later where a secret may go on in the next line.
#[derive(Default)]
pub struct Scrubber {
    hidden: Hidden,
    /// What has not been given out.
    pending: Vec<u8>,
    /// How much of it is whole lines. Found when they arrive, so that nothing is searched twice.
    lines: usize,
    /// Whether these lines were not looked at yet.
    is_fresh: bool,
    inside: OpenSecret,
}

/// Without the text, which is not scrubbed.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({:?}, {} bytes, {:?})", self.hidden, self.pending.len(), self.inside)
    }
}

/// A secret whose beginning was replaced and whose end has not arrived.
#[derive(Debug, Default, Clone, Copy)]
enum OpenSecret {
    #[default]
    Nothing,
    /// A private key, with the number of bytes dropped so far.
    KeyBlock(usize),
    /// A secret that is longer than any line. It ends at the next space.
    Word,
}

impl Scrubber {
    pub fn new(hidden: Hidden) -> Self {
        Self { hidden, ..Self::default() }
    }

    /// Takes in what arrived and calls `give` with the text that is certain now.
    pub fn push(&mut self, bytes: &[u8], mut give: impl FnMut(&str)) {
        // In pieces, so that no more is kept than a line and a piece.
        for piece in bytes.chunks(LINE_BYTES_MAX) {
            if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
                self.lines = self.pending.len() + at + 1;
                self.is_fresh = true;
            }
            self.pending.extend_from_slice(piece);
            while self.advance(&mut give) {}
        }
    }

    /// Calls `give` with what is left.
    pub fn finish(&mut self, mut give: impl FnMut(&str)) {
        while self.advance(&mut give) {}
        let inside = std::mem::take(&mut self.inside);
        if matches!(inside, OpenSecret::Nothing) {
            self.give_out(self.pending.len(), &mut give);
        }
        self.inside = OpenSecret::Nothing;
        self.drop_first(self.pending.len());
    }

    fn drop_first(&mut self, bytes: usize) {
        self.pending.drain(..bytes);
        self.lines = self.lines.saturating_sub(bytes);
        self.is_fresh = self.lines > 0;
    }

    /// One step; true if another one may be possible with the same input.
    fn advance(&mut self, give: &mut impl FnMut(&str)) -> bool {
        match self.inside {
            OpenSecret::KeyBlock(dropped) => return self.skip_key_block(dropped),
            OpenSecret::Word => return self.skip_word(),
            OpenSecret::Nothing => {}
        }
        let is_fresh = std::mem::take(&mut self.is_fresh);
        let certain = if is_fresh { self.certain(self.lines) } else { 0 };
        if certain > 0 {
            self.give_out(certain, give);
            return !matches!(self.inside, OpenSecret::Nothing);
        }
        if self.pending.len() > LINE_BYTES_MAX {
            self.cut_line(give);
            return true;
        }
        false
    }

    /// How much of these whole lines holds nothing that may go on behind them.
    fn certain(&self, lines: usize) -> usize {
        let text = &self.pending[..lines];
        let mut end = open_key_body(text).map_or(lines, |body| line_start(text, body));
        end = self.hidden.open_end(&text[..end]);
        let from = end.saturating_sub(ASSIGNMENT_BYTES_MAX);
        if let Some(name) = name_without_value(&text[from..end]) {
            end = line_start(text, from + name);
        }
        // A value of that many bytes is not waited for.
        if lines - end > LINE_BYTES_MAX { lines } else { end }
    }

    /// Gives out the first `end` bytes, scrubbed. A key block that does not end there is skipped from then on.
    fn give_out(&mut self, end: usize, give: &mut impl FnMut(&str)) {
        let text = String::from_utf8_lossy(&self.pending[..end]);
        let text = self.hidden.without_values(&text);
        if has_open_key_block(&text) {
            self.inside = OpenSecret::KeyBlock(0);
        }
        if !text.is_empty() {
            give(&scrub(&text));
        }
        self.drop_first(end);
    }

    /// A line without an end: gives out what comes before the last secret that may not be whole.
    fn cut_line(&mut self, give: &mut impl FnMut(&str)) {
        let length = self.make_text();
        let mut cut = cut_of(&self.pending);
        let mut marker = None;
        let text = std::str::from_utf8(&self.pending[..length]).expect("BUG: made text above");
        while let Some((secret, rule)) = spanning(text, cut) {
            if secret.start == 0 || secret.len() > LINE_BYTES_MAX - SECRET_BYTES_MAX {
                marker = Some((secret, rule));
                break;
            }
            cut = secret.start;
        }
        let Some((secret, rule)) = marker else {
            let open = self.hidden.open_end(&self.pending[..cut]);
            return self.give_out(if open == 0 { cut } else { open }, give);
        };
        self.give_out(secret.start, give);
        if !matches!(self.inside, OpenSecret::KeyBlock(_)) {
            give(&format!("[REDACTED:{rule}]"));
        }
        self.drop_first(secret.len());
        self.inside = if rule == "private_key_block" { OpenSecret::KeyBlock(0) } else { OpenSecret::Word };
    }

    /// Replaces what is not text as it is replaced when it is given out, so that places in the text are places in the
    /// bytes. Returns the length of the text; a character that has only begun follows it.
    fn make_text(&mut self) -> usize {
        let length = match std::str::from_utf8(&self.pending) {
            Ok(text) => return text.len(),
            Err(error) if error.error_len().is_none() => return error.valid_up_to(),
            Err(_) => {
                let rest = self.pending.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
                let is_begun = std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
                self.pending.len() - if is_begun { rest.len() } else { 0 }
            }
        };
        let rest = self.pending.split_off(length);
        self.pending = String::from_utf8_lossy(&self.pending).into_owned().into_bytes();
        let length = self.pending.len();
        self.pending.extend(rest);
        self.lines = self.pending.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        length
    }

    /// Drops a key block up to its end, the last line included.
    fn skip_key_block(&mut self, dropped: usize) -> bool {
        static END: OnceLock<regex::bytes::Regex> = OnceLock::new();
        let end = END.get_or_init(|| {
            regex::bytes::Regex::new("-----END [A-Z0-9 ]*PRIVATE KEY-----")
                .expect("BUG: the expression is valid")
        });
        if let Some(found) = end.find(&self.pending) {
            self.drop_first(found.end());
            self.inside = OpenSecret::Nothing;
            return true;
        }
        let surplus = self.pending.len().saturating_sub(LAST_LINE_BYTES_MAX);
        self.drop_first(surplus);
        let dropped = dropped + surplus;
        let is_over = dropped > KEY_BLOCK_BYTES_MAX;
        self.inside = if is_over { OpenSecret::Nothing } else { OpenSecret::KeyBlock(dropped) };
        is_over
    }

    fn skip_word(&mut self) -> bool {
        match self.pending.iter().position(u8::is_ascii_whitespace) {
            Some(end) => {
                self.drop_first(end);
                self.inside = OpenSecret::Nothing;
                true
            }
            None => {
                self.drop_first(self.pending.len());
                false
            }
        }
    }
}

/// Whether a private key begins in the text and does not end in it.
fn has_open_key_block(text: &str) -> bool {
    parts::edges(text).is_some_and(|(_, last)| last == "BEGIN")
}

/// Where the last lines begin that may be the body of a private key, which only its last line tells.
fn open_key_body(text: &[u8]) -> Option<usize> {
    static BODY: OnceLock<regex::bytes::Regex> = OnceLock::new();
    // Most lines end with a shorter word, and need no expression.
    let mut last_words = text.rsplit(|byte| !parts::is_base64(*byte)).filter(|word| !word.is_empty()).take(2);
    if !last_words.any(|word| word.len() >= parts::BODY_BYTES_MIN) {
        return None;
    }
    let body = BODY.get_or_init(|| {
        let pattern = concat!("(?-u)", key_body!(), r"\z");
        regex::bytes::Regex::new(pattern).expect("BUG: the expression is valid")
    });
    let from = text.len().saturating_sub(KEY_BODY_BYTES_MAX);
    body.find(&text[from..]).map(|found| from + found.start())
}

/// Where the line of this place begins.
fn line_start(text: &[u8], at: usize) -> usize {
    text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1)
}

/// Where the last words name a password, a token or a key whose value may be on the next line.
fn name_without_value(end: &[u8]) -> Option<usize> {
    static NAME: OnceLock<regex::bytes::Regex> = OnceLock::new();
    let last = end.trim_ascii_end().last();
    if !last.is_some_and(|byte| matches!(byte, b'=' | b':' | b'"' | b'\'') || b"yntdsYNTDS".contains(byte)) {
        return None;
    }
    let name = NAME.get_or_init(|| {
        let pattern =
            r#"(?i-u)(?:key|secret|token|password|passwd|pwd|credentials?)["']?\s*(?::=|=|:)?\s*["']?\s*\z"#;
        regex::bytes::Regex::new(pattern).expect("BUG: the expression is valid")
    });
    name.find(end).map(|found| found.start())
}

/// Where to cut a line that is too long: behind a space near its end, else where a secret would still be recognized
/// from what is kept, and not inside a character.
fn cut_of(line: &[u8]) -> usize {
    let window = line.len() - SECRET_BYTES_MAX;
    if let Some(space) = line[window..].iter().rposition(u8::is_ascii_whitespace) {
        return window + space + 1;
    }
    // A character has at most four bytes; a longer row of continuations is no text anyway.
    let starts = |&at: &usize| line[at] & 0b1100_0000 != 0b1000_0000;
    (window - 3..=window).rev().find(starts).unwrap_or(window)
}

#[cfg(test)]
mod tests;
