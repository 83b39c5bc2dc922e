//! Splits standard output into lines, whatever the pieces it arrives in.

use contract::domain::limits::LINE_BYTES_MAX;

/// One line, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputLine<'l> {
    Whole(&'l [u8]),
    /// It was longer than the limit and is dropped.
    TooLong,
}

/// An incomplete line.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    pending: Vec<u8>,
    is_too_long: bool,
}

impl LineBuffer {
    /// Calls `each` with every line that is complete now.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(OutputLine<'_>)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !self.is_too_long {
                self.pending.extend_from_slice(piece);
            }
            if self.pending.len() > LINE_BYTES_MAX {
                self.pending.clear();
                self.is_too_long = true;
            }
            if piece.ends_with(b"\n") {
                self.finish(&mut each);
            }
        }
    }

    /// Calls `each` with a last line that has no newline, if there is one.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(OutputLine<'_>)) {
        if std::mem::take(&mut self.is_too_long) {
            each(OutputLine::TooLong);
        } else if !self.pending.is_empty() {
            each(OutputLine::Whole(self.pending.strip_suffix(b"\n").unwrap_or(&self.pending)));
        }
        self.pending.clear();
    }
}
