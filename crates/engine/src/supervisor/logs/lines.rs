//! Joins what arrives in pieces into lines.

use contract::domain::limits::LINE_BYTES_MAX;

/// A line without an end is cut where a word ends, if one does this close to the limit: a secret is then
/// still seen in one piece.
const CUT_WINDOW_BYTES: usize = 4 * 1024;

/// The beginning of a line whose end has not come.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that is now whole, its newline included, and with pieces of overlong ones.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.pending.extend_from_slice(part);
            while self.pending.len() > LINE_BYTES_MAX {
                let end = cut_of(&self.pending[..LINE_BYTES_MAX]);
                each(&self.pending[..end]);
                self.pending.drain(..end);
            }
            if self.pending.ends_with(b"\n") {
                each(&self.pending);
                self.pending.clear();
            }
        }
    }

    /// Calls `each` with a last line that has no newline, if there is one.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.pending.is_empty() {
            each(&self.pending);
            self.pending.clear();
        }
    }
}

/// Where to cut: behind a space near the end, else before the last character, which may not be whole.
fn cut_of(bytes: &[u8]) -> usize {
    let window = bytes.len() - CUT_WINDOW_BYTES;
    if let Some(space) = bytes[window..].iter().rposition(u8::is_ascii_whitespace) {
        return window + space + 1;
    }
    // A character has at most four bytes; a longer row of continuations is no text anyway.
    let starts = |&at: &usize| bytes[at] & 0b1100_0000 != 0b1000_0000;
    (bytes.len() - 4..bytes.len()).rev().find(starts).unwrap_or(bytes.len())
}
