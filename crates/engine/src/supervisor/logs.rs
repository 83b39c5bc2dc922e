//! What an attempt printed, kept for `writ logs`: the beginning, the end, and how much was dropped between.

mod reading;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use contract::digest::Running;
use contract::domain::limits::{LOG_HEAD_BYTES_MAX, LOG_TAIL_BYTES_MAX};
use contract::secrets::{Hidden, Scrubber};

pub use self::reading::{LogReader, Piece};
use super::frame::{self, HEADER_BYTES, kind};

/// Which output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    Stdout,
    Stderr,
}

/// What a whole attempt printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// Of the bytes as they were printed, not as they are stored.
    pub stdout_digest: String,
    pub stderr_digest: String,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// Of the stored form.
    pub dropped_bytes: u64,
    /// Why the log stops before its end, if it does. What was printed is digested and counted all the same.
    pub fault: Option<String>,
}

/// Output is stored in pieces of this size at most, so that the tail can drop a little at a time.
const PIECE_BYTES_MAX: usize = 16 * 1024;
const DROPPED: u8 = b'd';

/// Writes one attempt's log.
pub struct LogWriter {
    file: File,
    streams: [LogSide; 2],
    /// What the head may still take. Once something did not fit, everything goes to the tail.
    head_left: usize,
    /// Whole frames, as they will be written at the end.
    tail: VecDeque<u8>,
    dropped_bytes: u64,
    fault: Option<io::Error>,
}

struct LogSide {
    /// Nothing is stored, or cut to size, before secrets are taken out of it.
    scrubber: Scrubber,
    digest: Running,
    bytes: u64,
}

impl LogStream {
    const BOTH: [LogStream; 2] = [LogStream::Stdout, LogStream::Stderr];

    fn kind(self) -> u8 {
        match self {
            LogStream::Stdout => kind::STDOUT,
            LogStream::Stderr => kind::STDERR,
        }
    }

    fn of_kind(kind: u8) -> Option<Self> {
        Self::BOTH.into_iter().find(|stream| stream.kind() == kind)
    }
}

impl LogWriter {
    /// A new log that only its owner can read. A file that is there already is not overwritten.
    pub fn create(path: &Path, hidden: &Hidden) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self::onto(file, hidden))
    }

    fn onto(file: File, hidden: &Hidden) -> Self {
        let side =
            || LogSide { scrubber: Scrubber::new(hidden.clone()), digest: Running::default(), bytes: 0 };
        Self {
            file,
            streams: [side(), side()],
            head_left: LOG_HEAD_BYTES_MAX,
            tail: VecDeque::new(),
            dropped_bytes: 0,
            fault: None,
        }
    }

    /// Takes in what was printed and returns the scrubbed text that is certain by now. Whole lines are stored; the rest
    /// waits for its end. A full disk is reported at the end: it must not end the attempt.
    pub fn write(&mut self, stream: LogStream, bytes: &[u8]) -> String {
        let side = &mut self.streams[stream as usize];
        side.digest.update(bytes);
        side.bytes += bytes.len() as u64;
        let mut text = String::with_capacity(bytes.len());
        side.scrubber.push(bytes, |clean| text.push_str(clean));
        let mut head = Vec::new();
        self.store(stream, text.as_bytes(), &mut head);
        self.append(&head);
        text
    }

    /// Stores the rest and returns the totals.
    pub fn finish(mut self) -> LogSummary {
        let mut end = Vec::new();
        for stream in LogStream::BOTH {
            let mut text = Vec::new();
            let scrubber = &mut self.streams[stream as usize].scrubber;
            scrubber.finish(|clean| text.extend_from_slice(clean.as_bytes()));
            self.store(stream, &text, &mut end);
        }
        if self.dropped_bytes > 0 {
            frame::append(&mut end, DROPPED, &self.dropped_bytes.to_be_bytes());
        }
        end.extend(&self.tail);
        self.append(&end);
        let [stdout, stderr] = self.streams;
        LogSummary {
            stdout_digest: stdout.digest.finish(),
            stderr_digest: stderr.digest.finish(),
            stdout_bytes: stdout.bytes,
            stderr_bytes: stderr.bytes,
            dropped_bytes: self.dropped_bytes,
            fault: self.fault.map(|error| error.to_string()),
        }
    }

    /// Nothing is written behind a frame that may be torn: it could not be read.
    fn append(&mut self, frames: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.file.write_all(frames).err();
        }
    }

    /// Puts scrubbed text behind the rest: into `head` while the file's first part has room, then into the tail.
    fn store(&mut self, stream: LogStream, text: &[u8], head: &mut Vec<u8>) {
        for piece in text.chunks(PIECE_BYTES_MAX) {
            let length = HEADER_BYTES + piece.len();
            if length <= self.head_left {
                self.head_left -= length;
                frame::append(head, stream.kind(), piece);
            } else {
                self.head_left = 0;
                self.tail.extend(frame::header(stream.kind(), piece.len()));
                self.tail.extend(piece);
                self.shorten_tail();
            }
        }
    }

    /// Drops whole frames from the front until the tail keeps its limit.
    fn shorten_tail(&mut self) {
        while self.tail.len() > LOG_TAIL_BYTES_MAX {
            let header = self.tail.iter().take(HEADER_BYTES).skip(1);
            let length = header.fold(0, |length, &byte| (length << 8) | usize::from(byte));
            self.tail.drain(..HEADER_BYTES + length);
            self.dropped_bytes += length as u64;
        }
    }
}

#[cfg(test)]
mod tests;
