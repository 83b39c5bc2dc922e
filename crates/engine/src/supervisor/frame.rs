//! Frames: a kind byte, a big-endian length, a payload. Pure, and safe to feed with any bytes.

use contract::domain::network::Visit;

use super::confinement::InForce;
use super::launch::LaunchSpec;

pub const HEADER_BYTES: usize = 5;
/// One piece of a child's output. As large as a pipe, so that one read fills one frame.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// A whole launch: a document for standard input, the arguments and the environment, escaped.
pub const LAUNCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A frame that is not decoded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShimFrame<'a> {
    pub kind: u8,
    pub payload: &'a [u8],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of {length} bytes, {limit} are allowed")]
    TooLong { length: usize, limit: usize },
    #[error("a frame of kind {0}, which is not known")]
    UnknownKind(u8),
    #[error("a frame of kind {0} whose content is damaged")]
    Damaged(u8),
}

/// What writ tells a shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToShim {
    /// Start this executor. The first frame, and sent once.
    Launch(Box<LaunchSpec>),
    /// Ask the executor to end, and end it after its grace.
    Stop,
    /// End it at once.
    Kill,
    /// More for its standard input, which was kept open for it.
    Input(Vec<u8>),
}

/// What a shim tells writ. `Ready` is the first, `Gone` or `StartFault` the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromShim {
    /// It has left writ's process group. Nothing was started yet.
    Ready,
    Started {
        pid: u32,
        in_force: InForce,
    },
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// Its processes together used more than they may, and are ended. Says what.
    Exceeded(String),
    /// What became of requests through the proxy to one destination so far.
    Visited(Visit),
    /// The executor itself ended. Output that was still in the pipes may follow.
    Exited(ProcessExit),
    Gone(Gone),
    Fault(StartFault),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
}

/// The end of all descendants of a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gone {
    /// Descendants other than the executor that were still there and had to be killed.
    pub killed: u32,
    /// Descendants that could not be ended in time: another user's, or stuck inside the kernel.
    pub survivors: u32,
}

/// Why an executor could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFault {
    pub message: String,
    /// The system's error number, if it was the system that refused.
    pub errno: Option<i32>,
}

/// How the message about a program begins that could not be started.
pub(in crate::supervisor) const NOT_STARTED: &str = "could not start";

impl StartFault {
    /// Whether there is no such program.
    pub fn is_missing_program(&self) -> bool {
        let is_missing = self.errno == Some(rustix::io::Errno::NOENT.raw_os_error());
        is_missing && self.message.starts_with(NOT_STARTED)
    }
}

/// Kinds that go to a shim have capital letters, the others small ones. A log keeps the two kinds of output too.
pub mod kind {
    pub(super) const LAUNCH: u8 = b'L';
    pub(super) const STOP: u8 = b'S';
    pub(super) const KILL: u8 = b'K';
    pub(super) const INPUT: u8 = b'I';
    pub(super) const READY: u8 = b'r';
    pub(super) const STARTED: u8 = b's';
    pub const STDOUT: u8 = b'o';
    pub const STDERR: u8 = b'e';
    pub(super) const EXCEEDED: u8 = b'm';
    pub(super) const VISITED: u8 = b'v';
    pub(super) const EXITED: u8 = b'x';
    pub(super) const GONE: u8 = b'g';
    pub(super) const FAULT: u8 = b'f';
}

/// Appends one frame to `out`.
pub fn append(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    out.extend_from_slice(&header(kind, payload.len()));
    out.extend_from_slice(payload);
}

/// The bytes that stand before a payload of this length.
pub fn header(kind: u8, length: usize) -> [u8; HEADER_BYTES] {
    let length = u32::try_from(length).expect("BUG: payloads are bounded far below 4 GiB");
    let [a, b, c, d] = length.to_be_bytes();
    [kind, a, b, c, d]
}

/// Takes the first frame off `bytes`: the frame and how many bytes it took, or nothing if it is not whole yet.
pub fn split(bytes: &[u8], payload_max: usize) -> Result<Option<(ShimFrame<'_>, usize)>, FrameError> {
    let Some((&[kind, a, b, c, d], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > payload_max {
        return Err(FrameError::TooLong { length, limit: payload_max });
    }
    Ok(rest.get(..length).map(|payload| (ShimFrame { kind, payload }, HEADER_BYTES + length)))
}

/// Bytes that arrived in pieces of any size, taken out again as frames.
#[derive(Debug)]
pub struct Incoming {
    bytes: Vec<u8>,
    taken: usize,
    payload_max: usize,
}

impl Incoming {
    pub fn new(payload_max: usize) -> Self {
        Self { bytes: Vec::new(), taken: 0, payload_max }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, or nothing until more bytes come.
    pub fn next_frame(&mut self) -> Result<Option<ShimFrame<'_>>, FrameError> {
        let Some((frame, length)) = split(&self.bytes[self.taken..], self.payload_max)? else {
            return Ok(None);
        };
        self.taken += length;
        Ok(Some(frame))
    }
}

impl ToShim {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            ToShim::Launch(spec) => append(&mut out, kind::LAUNCH, &spec.to_json()),
            ToShim::Stop => append(&mut out, kind::STOP, &[]),
            ToShim::Kill => append(&mut out, kind::KILL, &[]),
            ToShim::Input(bytes) => append(&mut out, kind::INPUT, bytes),
        }
        out
    }

    pub fn decode(frame: ShimFrame<'_>) -> Result<Self, FrameError> {
        let damaged = FrameError::Damaged(frame.kind);
        match frame.kind {
            kind::LAUNCH => match LaunchSpec::from_json(frame.payload) {
                Some(spec) => Ok(ToShim::Launch(Box::new(spec))),
                None => Err(damaged),
            },
            kind::STOP if frame.payload.is_empty() => Ok(ToShim::Stop),
            kind::KILL if frame.payload.is_empty() => Ok(ToShim::Kill),
            kind::STOP | kind::KILL => Err(damaged),
            kind::INPUT => Ok(ToShim::Input(frame.payload.to_vec())),
            other => Err(FrameError::UnknownKind(other)),
        }
    }
}

impl FromShim {
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            FromShim::Ready => append(out, kind::READY, &[]),
            FromShim::Started { pid, in_force } => {
                let in_force = serde_json::to_vec(in_force).expect("BUG: words can always be written");
                append(out, kind::STARTED, &[pid.to_be_bytes().as_slice(), &in_force].concat());
            }
            FromShim::Stdout(bytes) => append(out, kind::STDOUT, bytes),
            FromShim::Stderr(bytes) => append(out, kind::STDERR, bytes),
            FromShim::Exceeded(what) => append(out, kind::EXCEEDED, what.as_bytes()),
            FromShim::Visited(visit) => {
                let visit = serde_json::to_vec(visit).expect("BUG: words can always be written");
                append(out, kind::VISITED, &visit);
            }
            FromShim::Exited(exit) => append(out, kind::EXITED, &exit.encode()),
            FromShim::Gone(gone) => {
                let [killed, survivors] = [gone.killed.to_be_bytes(), gone.survivors.to_be_bytes()];
                append(out, kind::GONE, &[killed, survivors].concat());
            }
            FromShim::Fault(fault) => {
                let errno = fault.errno.unwrap_or(0).to_be_bytes();
                append(out, kind::FAULT, &[errno.as_slice(), fault.message.as_bytes()].concat());
            }
        }
    }

    pub fn decode(frame: ShimFrame<'_>) -> Result<Self, FrameError> {
        let known = match frame.kind {
            kind::READY => numbers(frame.payload).map(|[]: [u32; 0]| FromShim::Ready),
            kind::STARTED => started(frame.payload),
            kind::STDOUT => Some(FromShim::Stdout(frame.payload.to_vec())),
            kind::STDERR => Some(FromShim::Stderr(frame.payload.to_vec())),
            kind::EXCEEDED => String::from_utf8(frame.payload.to_vec()).ok().map(FromShim::Exceeded),
            kind::VISITED => serde_json::from_slice(frame.payload).ok().map(FromShim::Visited),
            kind::EXITED => ProcessExit::decode(frame.payload).map(FromShim::Exited),
            kind::GONE => {
                numbers(frame.payload).map(|[killed, survivors]| FromShim::Gone(Gone { killed, survivors }))
            }
            kind::FAULT => StartFault::decode(frame.payload).map(FromShim::Fault),
            other => return Err(FrameError::UnknownKind(other)),
        };
        known.ok_or(FrameError::Damaged(frame.kind))
    }
}

impl ProcessExit {
    fn encode(self) -> [u8; 5] {
        let (how, number) = match self {
            ProcessExit::Code(code) => (b'c', code),
            ProcessExit::Signal(signal) => (b's', signal),
        };
        let [a, b, c, d] = number.to_be_bytes();
        [how, a, b, c, d]
    }

    fn decode(payload: &[u8]) -> Option<Self> {
        let &[how, a, b, c, d] = payload else { return None };
        let number = i32::from_be_bytes([a, b, c, d]);
        match how {
            b'c' => Some(ProcessExit::Code(number)),
            b's' => Some(ProcessExit::Signal(number)),
            _ => None,
        }
    }
}

impl StartFault {
    fn decode(payload: &[u8]) -> Option<Self> {
        let (errno, message) = payload.split_first_chunk::<4>()?;
        let errno = Some(i32::from_be_bytes(*errno)).filter(|&number| number != 0);
        Some(StartFault { message: String::from_utf8_lossy(message).into_owned(), errno })
    }
}

fn started(payload: &[u8]) -> Option<FromShim> {
    let (pid, in_force) = payload.split_first_chunk::<4>()?;
    let in_force = serde_json::from_slice(in_force).ok()?;
    Some(FromShim::Started { pid: u32::from_be_bytes(*pid), in_force })
}

fn numbers<const N: usize>(payload: &[u8]) -> Option<[u32; N]> {
    if payload.len() != N * 4 {
        return None;
    }
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(payload.chunks_exact(4)) {
        *number = u32::from_be_bytes(bytes.try_into().ok()?);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests;
