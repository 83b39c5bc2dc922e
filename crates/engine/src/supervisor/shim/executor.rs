//! The executor's process and its three pipes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use super::link::ShimLink;
use super::starting;
use crate::supervisor::frame::{LAUNCH_BYTES_MAX, NOT_STARTED, OUTPUT_BYTES_MAX, StartFault, kind};
use crate::supervisor::launch::{LaunchSpec, Stdin};
use crate::supervisor::sandbox::Barrier;

pub(super) struct Executor {
    pub(super) pid: Pid,
    stdin: Option<Feed>,
    outputs: [ChildPipes; 2],
}

/// Input that the executor has not read yet.
struct Feed {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
    /// Whether the pipe stays open when everything is written.
    keeps_open: bool,
}

impl Feed {
    fn is_written(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Nothing to write, and nothing to close.
    fn is_idle(&self) -> bool {
        self.keeps_open && self.is_written()
    }
}

struct ChildPipes {
    kind: u8,
    pipe: Option<OwnedFd>,
}

impl Executor {
    pub(super) fn start(spec: LaunchSpec, barrier: Option<Barrier>) -> Result<Self, StartFault> {
        let Some(program) = spec.argv.first() else {
            return Err(StartFault { message: "no program to start".to_owned(), errno: None });
        };
        // Looked at first, because the start itself would call a missing directory a missing program.
        let cwd = spec.cwd.display();
        match std::fs::metadata(&spec.cwd) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(fault(&format!("could not work in {cwd}"), &Errno::NOTDIR.into())),
            Err(error) => return Err(fault(&format!("could not work in {cwd}"), &error)),
        }
        let attempted = format!("{NOT_STARTED} {}", program.display());
        let mut started = starting::start(&spec, barrier).map_err(|failed| {
            let step = failed.step.map(|step| format!("could not close the sandbox ({step})"));
            fault(&step.unwrap_or(attempted), &failed.error)
        })?;
        let stdin = match (spec.stdin, started.stdin.take()) {
            (Stdin::Bytes(bytes), Some(pipe)) => Some(Feed { pipe, bytes, written: 0, keeps_open: false }),
            (Stdin::KeptOpen(bytes), Some(pipe)) => Some(Feed { pipe, bytes, written: 0, keeps_open: true }),
            (Stdin::Bytes(_) | Stdin::KeptOpen(_) | Stdin::Closed, _) => None,
        };
        let stdout = ChildPipes { kind: kind::STDOUT, pipe: Some(started.stdout) };
        let stderr = ChildPipes { kind: kind::STDERR, pipe: Some(started.stderr) };
        let executor = Self { pid: started.pid, stdin, outputs: [stdout, stderr] };
        if let Err(error) = executor.never_block() {
            // With pipes that block it cannot be watched. It has hardly begun.
            rustix::process::kill_process(executor.pid, Signal::KILL).ok();
            rustix::process::waitpid(Some(executor.pid), WaitOptions::empty()).ok();
            return Err(fault("could not prepare the pipes", &error));
        }
        Ok(executor)
    }

    /// The group it leads, which has the number of its pid.
    pub(super) fn group(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Adds to an input that is kept open. False if the executor leaves too much of it unread.
    pub(super) fn add_input(&mut self, bytes: &[u8]) -> bool {
        let Some(feed) = self.stdin.as_mut().filter(|feed| feed.keeps_open) else { return true };
        feed.bytes.drain(..feed.written);
        feed.written = 0;
        feed.bytes.extend_from_slice(bytes);
        feed.bytes.len() <= LAUNCH_BYTES_MAX
    }

    /// Gives the executor what its input takes now.
    pub(super) fn feed(&mut self) {
        while let Some(feed) = self.stdin.as_mut().filter(|feed| !feed.is_idle()) {
            match rustix::io::write(&feed.pipe, &feed.bytes[feed.written..]) {
                Ok(length) => feed.written += length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                // It closed its input, as it may. What it did not want is dropped.
                Err(_) => {
                    self.stdin = None;
                    return;
                }
            }
            if feed.is_written() && !feed.keeps_open {
                self.stdin = None;
            }
        }
    }

    /// Moves at most one piece of each output on, so that neither starves the other.
    pub(super) fn pump(&mut self, link: &mut ShimLink) {
        for output in &mut self.outputs {
            if link.has_room() {
                output.forward(link);
            }
        }
    }

    /// Moves on what is still in the pipes now that every writer should be dead. Bounded by what a pipe can
    /// hold: someone outside the family tree may have been given the other end and keep writing.
    pub(super) fn drain(&mut self, link: &mut ShimLink) {
        self.stdin = None;
        for output in &mut self.outputs {
            let mut left = output.capacity();
            while left > 0 && !link.is_mute() {
                link.make_room();
                let Some(length) = output.forward(link) else { break };
                left = left.saturating_sub(length);
            }
        }
    }

    /// What would make another pass worthwhile.
    pub(super) fn waits(&self, has_room: bool) -> impl Iterator<Item = PollFd<'_>> {
        let busy = self.stdin.iter().filter(|feed| !feed.is_idle());
        let inputs = busy.map(|feed| PollFd::new(&feed.pipe, PollFlags::OUT));
        let outputs = self.outputs.iter().filter(move |_| has_room);
        let outputs = outputs.filter_map(|output| Some(PollFd::new(output.pipe.as_ref()?, PollFlags::IN)));
        inputs.chain(outputs)
    }

    fn never_block(&self) -> io::Result<()> {
        let inputs = self.stdin.iter().map(|feed| &feed.pipe);
        for pipe in inputs.chain(self.outputs.iter().filter_map(|output| output.pipe.as_ref())) {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(())
    }
}

impl ChildPipes {
    /// Moves one piece on: its length, or nothing if there is none now or never again.
    fn forward(&mut self, link: &mut ShimLink) -> Option<usize> {
        loop {
            match link.forward(self.kind, self.pipe.as_ref()?.as_fd()) {
                Ok(0) => self.pipe = None,
                Ok(length) => return Some(length),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return None,
                Err(_) => self.pipe = None,
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn capacity(&self) -> usize {
        let size = self.pipe.as_ref().and_then(|pipe| rustix::pipe::fcntl_getpipe_size(pipe).ok());
        size.unwrap_or(OUTPUT_BYTES_MAX)
    }

    #[cfg(not(target_os = "linux"))]
    fn capacity(&self) -> usize {
        OUTPUT_BYTES_MAX
    }
}

fn fault(attempted: &str, error: &io::Error) -> StartFault {
    StartFault { message: format!("{attempted}: {error}"), errno: error.raw_os_error() }
}
