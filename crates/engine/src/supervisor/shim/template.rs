//! The life of a template: it makes a copy of itself for each order, and the copy is a shim.

#![expect(unsafe_code, reason = "the mark of a process is in memory that the kernel shows to others")]

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

use super::{leave_session, raw, raw_pid};
use crate::supervisor::mark::SHIM_VARIABLE;
use crate::supervisor::template::{STREAMS, WORD};

/// A mark has about a hundred bytes.
const MARK_BYTES_MAX: usize = 512;
/// Of the line about this process.
const STAT_BYTES_MAX: usize = 4096;

/// What this process turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateRole {
    Shim,
    /// A template that outlived its writ.
    Ended,
}

/// Returns in a process that is a shim, or at the end of a template.
pub(super) fn role() -> io::Result<TemplateRole> {
    if std::env::args_os().any(|word| word == WORD) { serve() } else { Ok(TemplateRole::Shim) }
}

fn serve() -> io::Result<TemplateRole> {
    // Signals of a terminal are meant for writ.
    leave_session()?;
    // It also ends when the socket does. A copy does not inherit this.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let place = MarkLocation::find().ok_or(io::ErrorKind::Unsupported)?;
    loop {
        let Some(TemplateOrder { mark, streams }) = next_order(place.mark.len())? else {
            return Ok(TemplateRole::Ended);
        };
        let answer = match raw::copy_beside() {
            Ok(None) => {
                place.write(&mark);
                take(&streams)?;
                return Ok(TemplateRole::Shim);
            }
            Ok(Some(pid)) => raw_pid(pid).cast_signed(),
            Err(errno) => -errno.raw_os_error(),
        };
        rustix::io::retry_on_intr(|| send(stdin(), &answer.to_ne_bytes(), SendFlags::NOSIGNAL))?;
    }
}

struct TemplateOrder {
    mark: Vec<u8>,
    streams: [OwnedFd; STREAMS],
}

/// `None` when writ has ended.
fn next_order(length: usize) -> io::Result<Option<TemplateOrder>> {
    let mut text = [0; MARK_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut text)];
        match recvmsg(stdin(), &mut slices, &mut attached, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(None),
            other => break other?.bytes,
        }
    };
    if received == 0 {
        return Ok(None);
    }
    let rights = attached.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(streams) => Some(streams),
        _ => None,
    });
    let streams: Vec<OwnedFd> = rights.flatten().collect();
    let streams = streams.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    // Another length has no place.
    let mark = text.get(..received).filter(|mark| mark.len() == length).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(TemplateOrder { mark: mark.to_owned(), streams }))
}

/// In the copy: its own streams. With them the template's socket is closed here.
fn take([control, frames, words]: &[OwnedFd; STREAMS]) -> io::Result<()> {
    dup2_stdin(control.as_fd())?;
    dup2_stdout(frames.as_fd())?;
    Ok(dup2_stderr(words.as_fd())?)
}

/// Where the mark of this process is in the memory that others read as its arguments and its environment.
struct MarkLocation {
    starts: Vec<usize>,
    /// The one that was found there.
    mark: Vec<u8>,
}

impl MarkLocation {
    fn find() -> Option<Self> {
        let word = format!("{SHIM_VARIABLE}=");
        let own = |argument: OsString| argument.to_str()?.strip_prefix(&word).map(str::to_owned);
        let mark = std::env::args_os().find_map(own)?;
        let [arguments, environment] = shown_to_others(&std::fs::read("/proc/self/stat").ok()?)?;
        let found = |range: &Range<usize>| {
            // SAFETY: the kernel made this memory for the whole life of the process, and nobody writes to it meanwhile.
            let bytes = unsafe {
                let start = std::ptr::with_exposed_provenance::<u8>(range.start);
                std::slice::from_raw_parts(start, range.len())
            };
            let at = bytes.windows(mark.len()).position(|window| window == mark.as_bytes())?;
            Some(range.start + at)
        };
        let starts = vec![found(&arguments)?, found(&environment)?];
        Some(Self { starts, mark: mark.into_bytes() })
    }

    /// Writes another mark of the same length.
    fn write(&self, mark: &[u8]) {
        assert_eq!(mark.len(), self.mark.len(), "BUG: all marks of an owner have the same length");
        for start in &self.starts {
            let target = std::ptr::with_exposed_provenance_mut::<u8>(*start);
            // SAFETY: a mark of this length was found there, in memory that only the kernel reads.
            unsafe { std::ptr::copy_nonoverlapping(mark.as_ptr(), target, mark.len()) };
        }
    }
}

/// The addresses of the arguments and of the environment, from a line of `/proc/PID/stat`.
fn shown_to_others(line: &[u8]) -> Option<[Range<usize>; 2]> {
    let line = line.get(..line.len().min(STAT_BYTES_MAX))?;
    let name_end = line.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(line.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Numbered as in proc(5), where the state is field 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<usize>().ok();
    let range = |from: usize| Some(field(from)?..field(from + 1)?).filter(|range| range.start < range.end);
    Some([range(48)?, range(50)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_the_last_fields_but_one() {
        let numbers: Vec<String> = (4..=52).map(|number: u32| number.to_string()).collect();
        let line = format!("7 (a) b) S {}\n", numbers.join(" "));
        assert_eq!(shown_to_others(line.as_bytes()), Some([48..49, 50..51]));
        // The kernel says zero to those who may not know.
        let hidden = line.replace(" 48 49 ", " 0 0 ");
        assert_eq!(shown_to_others(hidden.as_bytes()), None);
        assert_eq!(shown_to_others(b"7 (a"), None);
    }
}
