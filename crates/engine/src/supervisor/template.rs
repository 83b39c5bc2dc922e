//! A template: a process of the shim's program that has begun and waits. Every shim after the first is a copy of it.
//!
//! ```text
//! writ ─┬─ template   waits for orders
//!       ├─ shim       a copy of the template, and a child of writ all the same
//!       └─ shim
//! ```
//! To start the program takes the system longer than a shim works for a small task: it is loaded, linked and moved to its
//! addresses, page by page. A copy has all of that. A process that starts only one shim needs no template.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use rustix::process::Pid;

use super::mark::{Marker, nobodys_attempt};
use super::shim_process::ShimProcess;
use super::{ShimProgram, spawner, wait_for};

/// Among the arguments of a template.
pub(super) const WORD: &str = "WRIT_TEMPLATE";
/// A copy gets these.
pub(super) const STREAMS: usize = 3;
/// What a template answers with: the pid of the copy, or an error number below zero.
pub(super) const ANSWER_BYTES: usize = size_of::<i32>();
/// How long a template may take for one copy. A new one has to begin first.
const COPY_DEADLINE: Duration = Duration::from_secs(10);
/// Templates that may fail one after the other before every shim is started as a program.
const FAILURES_MAX: usize = 3;

/// A shim that is a copy of the template. `None` if the program has to be started for it.
///
/// Any thread may ask for one: to the kernel its parent is the thread that started the template.
pub(super) fn copy(shim: &ShimProgram, marker: &Marker) -> Option<ShimProcess> {
    templates().copy(shim, marker)
}

/// Ends the template and waits for its end. Another one begins with the second shim from now on.
pub(super) fn end() {
    let mut templates = templates();
    (templates.has_begun, templates.template) = (false, None);
}

fn templates() -> MutexGuard<'static, Templates> {
    TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner)
}

static TEMPLATES: Mutex<Templates> = Mutex::new(Templates { has_begun: false, template: None, failures: 0 });

/// The template of this process, if there is one.
#[derive(Debug)]
struct Templates {
    /// Whether a shim was started before.
    has_begun: bool,
    template: Option<ShimTemplate>,
    failures: usize,
}

impl Templates {
    fn copy(&mut self, shim: &ShimProgram, marker: &Marker) -> Option<ShimProcess> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first || !shim.has_template || self.failures >= FAILURES_MAX {
            return None;
        }
        let template = match self.template.take() {
            Some(template) => template,
            None => self.begin(shim, marker)?,
        };
        if !template.fits(shim, marker) {
            self.template = Some(template);
            return None;
        }
        match template.copy(marker) {
            Ok(copied) => {
                self.template = Some(template);
                self.failures = 0;
                Some(copied)
            }
            // Without the template a process and its descriptors are free, which may be what was missing.
            Err(_) => {
                self.failures += 1;
                None
            }
        }
    }

    /// `None` if it cannot be started. The caller starts a shim directly, which reports the shortage.
    fn begin(&mut self, shim: &ShimProgram, marker: &Marker) -> Option<ShimTemplate> {
        let begun = ShimTemplate::begin(shim, marker);
        self.failures += usize::from(begun.is_err());
        begun.ok()
    }
}

#[derive(Debug)]
struct ShimTemplate {
    shim: ShimProgram,
    mark: Marker,
    process: Child,
    orders: OwnedFd,
}

impl ShimTemplate {
    fn begin(shim: &ShimProgram, marker: &Marker) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (orders, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mark = Marker { attempt: nobodys_attempt(), owner: marker.owner.clone() };
        let mut command = spawner::command(shim, &mark);
        command.arg(WORD).stdin(other).stdout(Stdio::null()).stderr(Stdio::null());
        let process = spawner::spawn(command)?;
        let shim = shim.clone();
        Ok(Self { shim, mark, process, orders })
    }

    fn fits(&self, shim: &ShimProgram, marker: &Marker) -> bool {
        self.shim == *shim && self.mark.owner == marker.owner
    }

    /// After an error the template is of no more use: a late answer would be taken for that to another order.
    fn copy(&self, marker: &Marker) -> io::Result<ShimProcess> {
        let ends = self.order(marker)?;
        shim_of(self.answer()?, ends)
    }

    /// Sends an order. Returns our ends of the copy's streams.
    fn order(&self, marker: &Marker) -> io::Result<[OwnedFd; STREAMS]> {
        let (streams, ends) = pipes()?;
        let mark = marker.to_string();
        let borrowed = [&streams[0], &streams[1], &streams[2]].map(AsFd::as_fd);
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        if !attached.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let text = [io::IoSlice::new(mark.as_bytes())];
        sendmsg(&self.orders, &text, &mut attached, SendFlags::NOSIGNAL)?;
        Ok(ends)
    }

    /// The answer to an order.
    fn answer(&self) -> io::Result<i32> {
        let mut waits = [PollFd::new(&self.orders, PollFlags::IN)];
        let deadline = Instant::now() + COPY_DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            wait_for(&mut waits, Some(left));
            if !waits[0].revents().is_empty() {
                break;
            }
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let mut bytes = [0; ANSWER_BYTES];
        match recv(&self.orders, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((_, ANSWER_BYTES)) => Ok(i32::from_ne_bytes(bytes)),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::INTR) => self.answer(),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Ends one that is of no more use. A living one ends with this process.
impl Drop for ShimTemplate {
    fn drop(&mut self) {
        // It may have ended by itself; collecting it is what counts.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The copy that a template answered with, and our ends of its streams.
fn shim_of(answer: i32, [control, frames, words]: [OwnedFd; STREAMS]) -> io::Result<ShimProcess> {
    if answer <= 0 {
        return Err(io::Error::from_raw_os_error(answer.saturating_neg()));
    }
    let pid = Pid::from_raw(answer).ok_or(io::ErrorKind::InvalidData)?;
    Ok(ShimProcess::new(pid, control, frames, words))
}

/// Its three streams, and the other ends of them.
fn pipes() -> io::Result<([OwnedFd; STREAMS], [OwnedFd; STREAMS])> {
    let (stdin, control) = io::pipe()?;
    let (frames, stdout) = io::pipe()?;
    let (words, stderr) = io::pipe()?;
    let streams = [stdin.into(), stdout.into(), stderr.into()];
    Ok((streams, [control.into(), frames.into(), words.into()]))
}
