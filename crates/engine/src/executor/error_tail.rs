//! The end of what a child printed on standard error.

/// So much of it is kept: a few lines.
const BYTES_MAX: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct ErrorTail(Vec<u8>);

impl ErrorTail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let more = self.0.len().saturating_sub(BYTES_MAX);
        self.0.drain(..more);
    }

    /// The last line that is not blank.
    pub(super) fn last_line(&self) -> Option<String> {
        last_line(&String::from_utf8_lossy(&self.0))
    }
}

/// The last line of a text that is not blank.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS_MAX).collect())
}

const LINE_CHARS_MAX: usize = 300;
