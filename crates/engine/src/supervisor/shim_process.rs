//! A shim as its owner holds it: its pid and the owner's ends of its three pipes.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

/// A child of this process, however it began.
#[derive(Debug)]
pub(super) struct ShimProcess {
    pid: Pid,
    /// Once it was collected, its pid may be another's.
    status: Option<WaitStatus>,
    /// Its standard input.
    pub(super) control: Option<OwnedFd>,
    /// Its standard output.
    pub(super) frames: OwnedFd,
    /// Its standard error.
    pub(super) words: OwnedFd,
}

impl ShimProcess {
    pub(super) fn new(pid: Pid, control: OwnedFd, frames: OwnedFd, words: OwnedFd) -> Self {
        Self { pid, status: None, control: Some(control), frames, words }
    }

    /// All three streams of the child are pipes.
    pub(super) fn of(mut child: Child) -> io::Result<Self> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        match (stdin, stdout, stderr) {
            (Some(control), Some(frames), Some(words)) => {
                Ok(Self::new(Pid::from_child(&child), control.into(), frames.into(), words.into()))
            }
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Does nothing if it was collected.
    pub(super) fn kill(&self) {
        if self.status.is_none() {
            // It may have ended by itself.
            kill_process(self.pid, Signal::KILL).ok();
        }
    }

    /// Waits for its end and collects it.
    pub(super) fn wait(&mut self) -> Result<WaitStatus, Errno> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        match retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()))? {
            Some((_, status)) => Ok(*self.status.insert(status)),
            None => Err(Errno::CHILD),
        }
    }
}
