//! Reads a log back, also one that is being written or was cut off.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{DROPPED, LogStream};
use crate::supervisor::frame::{HEADER_BYTES, OUTPUT_BYTES_MAX};

/// What is read from a log, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Output(LogStream, Vec<u8>),
    /// So many bytes were not kept.
    Dropped(u64),
}

#[derive(Debug)]
pub struct LogReader {
    file: BufReader<File>,
    is_done: bool,
}

impl LogReader {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(path)?), is_done: false })
    }

    /// The next frame; nothing at the end, and nothing where the end is torn.
    fn next_frame(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let mut header = [0; HEADER_BYTES];
        if !self.fill(&mut header)? {
            return Ok(None);
        }
        let [kind, length @ ..] = header;
        let length = u32::from_be_bytes(length) as usize;
        if length > OUTPUT_BYTES_MAX {
            return Ok(None);
        }
        let mut payload = vec![0; length];
        Ok(self.fill(&mut payload)?.then_some((kind, payload)))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.file.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Iterator for LogReader {
    type Item = io::Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done {
            let frame = self.next_frame();
            self.is_done = !matches!(frame, Ok(Some(_)));
            let (kind, payload) = match frame.transpose()? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(error)),
            };
            if let Some(stream) = LogStream::of_kind(kind) {
                return Some(Ok(Piece::Output(stream, payload)));
            }
            // Kinds that a newer writ may add are passed over.
            if let (DROPPED, Ok(count)) = (kind, payload.try_into()) {
                return Some(Ok(Piece::Dropped(u64::from_be_bytes(count))));
            }
        }
        None
    }
}
