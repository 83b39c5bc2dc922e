//! The process of a sandbox's proxy.
//!
//! ```text
//! writ ── shim ─┬─ proxy     outside, as the shim was when it began
//!               ├─ init      inside
//!               └─ executor  inside; makes the listening sockets and hands them to the proxy
//! ```
//! It is a process because the shim, once it has entered a pid namespace for its children, can have no threads. It ends
//! when the shim closes its pipe, and the kernel kills it when the shim dies.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use contract::domain::network::Visit;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, set_parent_process_death_signal,
};

use super::raw;
use crate::supervisor::frame::{FromShim, Incoming, OUTPUT_BYTES_MAX};
use crate::supervisor::proxy::{Proxy, Reachable};
use crate::supervisor::sandbox::{ProxyDoors, SocketReceiver, harden, pair};
use crate::supervisor::wait_for;

/// How long the proxy may take to tell its sums. It only adds up numbers.
const SUMS_DEADLINE: Duration = Duration::from_secs(5);

/// The proxy of one executor, as the shim sees it.
pub(super) struct Outlet {
    pid: Pid,
    /// Means the process even after it was collected, when its pid may be another's.
    pinned: OwnedFd,
    /// `None` once it has ended.
    reports: Option<PipeReader>,
    stop: Option<PipeWriter>,
    incoming: Incoming,
}

impl Outlet {
    /// Starts the process, which waits for the sockets that the doors will make. The caller has one thread.
    pub(super) fn start(reachable: &Reachable) -> io::Result<(Self, ProxyDoors)> {
        let (doors, receiver) = pair(&reachable.doors())?;
        let (reports, reporter) = io::pipe()?;
        let (stop, stopper) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reports, true)?;
        let shim = getpid();
        let pid = raw::fork(|| {
            if set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && getppid() == Some(shim) {
                live(reachable, receiver, reporter, stop);
            }
        })?;
        let pinned = pidfd_open(pid, PidfdFlags::empty()).inspect_err(|_| {
            rustix::process::kill_process(pid, Signal::KILL).ok();
            rustix::process::waitpid(Some(pid), WaitOptions::empty()).ok();
        })?;
        let incoming = Incoming::new(OUTPUT_BYTES_MAX);
        Ok((Self { pid, pinned, reports: Some(reports), stop: Some(stopper), incoming }, doors))
    }

    /// Tells when there is news.
    pub(super) fn wait(&self) -> Option<PollFd<'_>> {
        self.reports.as_ref().map(|reports| PollFd::new(reports, PollFlags::IN))
    }

    /// Its pending messages.
    pub(super) fn news(&mut self) -> Vec<Visit> {
        let mut buffer = [0; 4096];
        let mut visits = Vec::new();
        while let Some(reports) = &self.reports {
            match rustix::io::read(reports, &mut buffer) {
                Ok(0) => self.reports = None,
                Ok(length) => self.incoming.push(&buffer[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => self.reports = None,
            }
            visits.extend(self.frames());
        }
        visits
    }

    fn frames(&mut self) -> Vec<Visit> {
        let mut visits = Vec::new();
        while let Ok(Some(frame)) = self.incoming.next_frame() {
            if let Ok(FromShim::Visited(visit)) = FromShim::decode(frame) {
                visits.push(visit);
            }
        }
        visits
    }

    /// Ends all connections. Returns the sums of everything that was reached and denied.
    pub(super) fn finish(&mut self) -> Vec<Visit> {
        self.stop = None;
        let deadline = Instant::now() + SUMS_DEADLINE;
        let mut visits = Vec::new();
        while let Some(reports) = &self.reports {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // It may be stopped. If it has ended, there is nothing to kill.
                rustix::process::pidfd_send_signal(&self.pinned, Signal::KILL).ok();
                break;
            }
            wait_for(&mut [PollFd::new(reports, PollFlags::IN)], Some(left));
            visits.extend(self.news());
        }
        visits
    }
}

/// Ends the process of an executor that has no use for it, or has ended.
impl Drop for Outlet {
    fn drop(&mut self) {
        // If it has ended and was collected, both do nothing.
        rustix::process::pidfd_send_signal(&self.pinned, Signal::KILL).ok();
        rustix::process::waitpid(Some(self.pid), WaitOptions::empty()).ok();
    }
}

/// The life of the process.
fn live(reachable: &Reachable, receiver: SocketReceiver, reporter: PipeWriter, stop: PipeReader) {
    raw::ignore_signals();
    super::namespace::refuse_tracing();
    // With the others the pipes to writ would stay open, and what the shim has from writ.
    let Some([socket, reporter, stop]) = raw::keep_only([receiver.into(), reporter.into(), stop.into()])
    else {
        return;
    };
    harden();
    let doors = reachable.doors();
    // Waits for the executor's process. If that is never started, the shim closes the other end.
    let Ok(listeners) = SocketReceiver::from_socket(socket, doors.len()).receive() else { return };
    let Ok(mut proxy) = Proxy::start(reachable, doors.into_iter().zip(listeners).collect()) else { return };
    loop {
        let mut waits = [proxy.wait(), PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)];
        wait_for(&mut waits, None);
        let is_over = !waits[1].revents().is_empty();
        let visits = if is_over { proxy.finish() } else { proxy.news() };
        if visits.into_iter().try_for_each(|visit| tell(&reporter, visit)).is_err() || is_over {
            return;
        }
    }
}

fn tell(reporter: &OwnedFd, visit: Visit) -> Result<(), rustix::io::Errno> {
    let mut frame = Vec::new();
    FromShim::Visited(visit).encode_into(&mut frame);
    let mut left = frame.as_slice();
    while !left.is_empty() {
        left = &left[rustix::io::retry_on_intr(|| rustix::io::write(reporter, left))?..];
    }
    Ok(())
}
