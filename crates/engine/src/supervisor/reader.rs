//! The owner's side of one shim: turns its frames into reports, and its death into an end of what it started.

use std::fs::File;
use std::io::{PipeReader, Read};
use std::time::{Duration, Instant};

use contract::domain::limits::KILL_DEADLINE;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Signal;

use super::frame::{FromShim, Incoming, OUTPUT_BYTES_MAX};
use super::shim_process::ShimProcess;
use super::{ChildReport, LostShim, Marker, end_shim, reap, wait_for};

/// The handle's request, which the reader enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Stop,
    Kill,
}

impl Request {
    pub(super) fn byte(self) -> u8 {
        match self {
            Request::Stop => b's',
            Request::Kill => b'k',
        }
    }
}

/// Beyond what a shim may take for its work: a busy machine's delays.
const SHIM_SLACK: Duration = Duration::from_secs(10);
/// Limit of a shim's message about its own death.
const LAST_WORDS_BYTES_MAX: u64 = 4 * 1024;

pub(super) struct FrameReader {
    shim: ShimProcess,
    marker: Marker,
    grace: Duration,
    requests: Option<PipeReader>,
    incoming: Incoming,
    buffer: Vec<u8>,
    /// When a shim that should end its executor counts as stuck.
    deadline: Option<Instant>,
}

impl FrameReader {
    pub(super) fn new(shim: ShimProcess, marker: Marker, grace: Duration, requests: PipeReader) -> Self {
        Self {
            shim,
            marker,
            grace,
            requests: Some(requests),
            incoming: Incoming::new(OUTPUT_BYTES_MAX),
            buffer: vec![0; OUTPUT_BYTES_MAX],
            deadline: None,
        }
    }

    /// Passes on one report after the other, up to and with the last.
    pub(super) fn run(mut self, mut sink: impl FnMut(ChildReport)) {
        loop {
            let report = match self.next_message() {
                // Taken before this reader started.
                Ok(FromShim::Ready) => continue,
                Ok(FromShim::Started { pid, in_force }) => ChildReport::Started { pid, in_force },
                Ok(FromShim::Stdout(bytes)) => ChildReport::Stdout(bytes),
                Ok(FromShim::Stderr(bytes)) => ChildReport::Stderr(bytes),
                Ok(FromShim::Exceeded(what)) => ChildReport::Exceeded(what),
                Ok(FromShim::Visited(visit)) => ChildReport::Visited(visit),
                Ok(FromShim::Exited(exit)) => ChildReport::Exited(exit),
                Ok(FromShim::Gone(gone)) => {
                    sink(ChildReport::Gone(gone));
                    // Everything that matters has ended. The kernel takes its time for what is left of the namespaces.
                    end_shim(&mut self.shim);
                    return;
                }
                Ok(FromShim::Fault(fault)) => {
                    end_shim(&mut self.shim);
                    return sink(ChildReport::Fault(fault));
                }
                Err(reason) => return sink(ChildReport::Lost(self.clean_up(&reason))),
            };
            sink(report);
        }
    }

    fn next_message(&mut self) -> Result<FromShim, String> {
        loop {
            let message =
                self.incoming.next_frame().and_then(|frame| frame.map(FromShim::decode).transpose());
            match message {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => self.read_more()?,
                Err(error) => return Err(format!("the supervising process sent {error}")),
            }
        }
    }

    /// Waits for more of the shim's frames, and for requests meanwhile.
    fn read_more(&mut self) -> Result<(), String> {
        let mut waits = vec![PollFd::new(&self.shim.frames, PollFlags::IN)];
        waits.extend(self.requests.iter().map(|requests| PollFd::new(requests, PollFlags::IN)));
        let timeout = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        wait_for(&mut waits, timeout);
        let [has_frames, has_requests] =
            [0, 1].map(|at| waits.get(at).is_some_and(|w| !w.revents().is_empty()));
        drop(waits);
        if has_requests {
            self.note_requests();
        }
        if has_frames {
            return self.read_frames();
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err("the supervising process did not end its executor in time".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn read_frames(&mut self) -> Result<(), String> {
        match rustix::io::read(&self.shim.frames, &mut self.buffer[..]) {
            Ok(0) => Err("the supervising process ended before its executor".to_owned()),
            Ok(length) => {
                self.incoming.push(&self.buffer[..length]);
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(format!("the supervising process could not be read: {error}")),
        }
    }

    fn note_requests(&mut self) {
        // An executor could have stopped its shim. It is not collected before this thread does it, so its pid is safe.
        rustix::process::kill_process(self.shim.pid(), Signal::CONT).ok();
        let mut bytes = [0; 64];
        let length = self.requests.as_mut().map_or(Ok(0), |requests| requests.read(&mut bytes)).unwrap_or(0);
        // A dropped handle has closed the pipe, and wants what a kill wants.
        let is_kill = length == 0 || bytes[..length].contains(&Request::Kill.byte());
        if length == 0 {
            self.requests = None;
        }
        let grace = if is_kill { Duration::ZERO } else { self.grace };
        let deadline = Instant::now() + grace + KILL_DEADLINE + SHIM_SLACK;
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    fn clean_up(&mut self, reason: &str) -> LostShim {
        // Killed, but collected only afterwards: until then its pid, and so its session's number, is taken.
        self.shim.kill();
        let reaped = reap::end_orphans(self.shim.id(), &self.marker);
        self.shim.wait().ok();
        let said = self.last_words();
        let message = if said.is_empty() { reason.to_owned() } else { format!("{reason}: {said}") };
        LostShim { message, reaped }
    }

    fn last_words(&mut self) -> String {
        let mut said = Vec::new();
        // The other end should be closed by now; this must not wait for it in any case.
        if rustix::io::ioctl_fionbio(&self.shim.words, true).is_ok()
            && let Ok(words) = self.shim.words.try_clone()
        {
            File::from(words).take(LAST_WORDS_BYTES_MAX).read_to_end(&mut said).ok();
        }
        String::from_utf8_lossy(&said).trim().to_owned()
    }
}
