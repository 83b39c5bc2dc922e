//! A template: a process of the shim's program that has begun and waits. Every shim after the first is a copy of it.
//!
//! ```text
//! writ ─┬─ template   waits for orders
//!       ├─ shim       a copy of the template, and a child of writ all the same
//!       └─ shim
//! ```
//! To start the program takes the system longer than a shim works for a small task: it is loaded, linked and moved to its
//! addresses, page by page. A copy has all of that. A process that starts only one shim needs no template.
//!
//! Where children follow each other quickly, the next shim is made while nobody waits for it: a *spare* has entered its
//! namespace and waits for its launch. It has the template's mark until then.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use rustix::process::{Pid, Resource, getrlimit};

use super::mark::{Marker, nobodys_attempt};
use super::shim_process::ShimProcess;
use super::{ShimProgram, end_shim, spawner, wait_for};

/// Among the arguments of a template.
pub(super) const WORD: &str = "WRIT_TEMPLATE";
/// A copy gets these.
pub(super) const STREAMS: usize = 3;
/// What a template answers with: the pid of the copy, or an error number below zero.
pub(super) const ANSWER_BYTES: usize = size_of::<i32>();
/// How long a template may take for one copy. A new one has to begin first.
const COPY_DEADLINE: Duration = Duration::from_secs(10);
/// How long a spare may take to end.
const SPARE_END_DEADLINE: Duration = Duration::from_secs(1);
/// Templates that may fail one after the other before every shim is started as a program.
const FAILURES_MAX: usize = 3;
/// Spares that may fail before none is made any more.
const SPARES_FAILED_MAX: usize = 3;
/// Where a user may have fewer processes, none is made in advance.
const PROCESSES_MIN: u64 = 256;

/// How old a spare may be when it gets its launch: its executor does not see what was mounted since. And how soon one
/// child has to follow another for a spare to be made.
const SPARE_AGE_MAX: Duration = Duration::from_secs(1);
/// After this time a spare that nobody needed ends by itself.
pub(super) const SPARE_PATIENCE: Duration = Duration::from_secs(2);

/// A shim that is a copy of the template. `None` if the program has to be started for it.
///
/// Any thread may ask for one: to the kernel its parent is the thread that started the template.
pub(super) fn copy(shim: &ShimProgram, marker: &Marker) -> Option<ShimProcess> {
    templates().copy(shim, marker)
}

/// A shim that is in a namespace already and waits for its launch, if there is one.
pub(super) fn spare(shim: &ShimProgram, marker: &Marker) -> Option<ShimProcess> {
    let mut templates = templates();
    let template = templates.template.as_mut().filter(|template| template.fits(shim, marker))?;
    template.take_spare()
}

/// A shim has its launch. If it came soon after the one before, the next one is made now.
pub(super) fn order_spare(shim: &ShimProgram, marker: &Marker) {
    let mut templates = templates();
    let is_hopeless = templates.spares_failed >= SPARES_FAILED_MAX || !has_room();
    if let Some(template) = templates.template.as_mut().filter(|template| template.fits(shim, marker)) {
        let before = template.launched.replace(Instant::now());
        if !is_hopeless && before.is_some_and(|before| before.elapsed() < SPARE_AGE_MAX) {
            template.order_spare();
        }
    }
}

/// Whether this user may have so many processes that a few which only wait are in nobody's way.
fn has_room() -> bool {
    getrlimit(Resource::Nproc).current.is_none_or(|most| most >= PROCESSES_MIN)
}

/// A spare did not take its launch.
pub(super) fn spare_failed() {
    templates().spares_failed += 1;
}

/// A child has ended that could have changed what a spare hides or sees: its mounts, devices and files.
pub(super) fn outdate_spares() {
    CHANGES.fetch_add(1, Ordering::Release);
}

/// How often that was so. A spare from before is not used.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Ends the spare, and makes no other one: where something is missing, it has what others need.
pub(super) fn end_spare() {
    let mut templates = templates();
    templates.spares_failed = SPARES_FAILED_MAX;
    templates.template.iter_mut().for_each(Template::end_spare);
}

/// Ends the template and waits for its end. Another one begins with the second shim from now on.
pub(super) fn end() {
    let mut templates = templates();
    (templates.has_begun, templates.template) = (false, None);
}

fn templates() -> MutexGuard<'static, Templates> {
    TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner)
}

static TEMPLATES: Mutex<Templates> =
    Mutex::new(Templates { has_begun: false, template: None, failures: 0, spares_failed: 0 });

/// The template of this process, if there is one.
#[derive(Debug)]
struct Templates {
    /// Whether a shim was started before.
    has_begun: bool,
    template: Option<Template>,
    failures: usize,
    /// Spares that did not take their launch.
    spares_failed: usize,
}

impl Templates {
    fn copy(&mut self, shim: &ShimProgram, marker: &Marker) -> Option<ShimProcess> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first || !shim.has_template || self.failures >= FAILURES_MAX {
            return None;
        }
        let mut template = match self.template.take() {
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

    /// `None` if it cannot be started. What is missing is told by the start of the shim that follows.
    fn begin(&mut self, shim: &ShimProgram, marker: &Marker) -> Option<Template> {
        let begun = Template::begin(shim, marker);
        self.failures += usize::from(begun.is_err());
        begun.ok()
    }
}

/// When a spare was made.
#[derive(Debug, Clone, Copy)]
struct Birth {
    at: Instant,
    changes: u64,
}

impl Birth {
    fn now() -> Self {
        Self { at: Instant::now(), changes: CHANGES.load(Ordering::Acquire) }
    }

    fn is_recent(&self) -> bool {
        self.at.elapsed() < SPARE_AGE_MAX && self.changes == CHANGES.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Template {
    shim: ShimProgram,
    mark: Marker,
    process: Child,
    orders: OwnedFd,
    /// When a shim last got its launch.
    launched: Option<Instant>,
    /// A spare that was ordered, and whose pid was not heard yet.
    ordered: Option<(Birth, [OwnedFd; STREAMS])>,
    spare: Option<(Birth, ShimProcess)>,
    /// One that was too old and ends by itself.
    outdated: Option<ShimProcess>,
    /// An answer did not come. The next one would be taken for that of another order.
    is_lost: bool,
}

impl Template {
    fn begin(shim: &ShimProgram, marker: &Marker) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (orders, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mark = Marker { attempt: nobodys_attempt(), owner: marker.owner.clone() };
        let mut command = spawner::command(shim, &mark);
        command.arg(WORD).stdin(other).stdout(Stdio::null()).stderr(Stdio::null());
        let process = spawner::spawn(command)?;
        let shim = shim.clone();
        Ok(Self {
            shim,
            mark,
            process,
            orders,
            launched: None,
            ordered: None,
            spare: None,
            outdated: None,
            is_lost: false,
        })
    }

    fn fits(&self, shim: &ShimProgram, marker: &Marker) -> bool {
        self.shim == *shim && self.mark.owner == marker.owner
    }

    fn copy(&mut self, marker: &Marker) -> io::Result<ShimProcess> {
        self.receive_spare();
        if self.is_lost {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let ends = self.order(marker)?;
        shim_of(self.answer()?, ends)
    }

    /// An order with the template's own mark is one for a spare.
    fn order_spare(&mut self) {
        self.receive_spare();
        if self.spare.is_none() && !self.is_lost {
            let birth = Birth::now();
            self.ordered = self.order(&self.mark).ok().map(|ends| (birth, ends));
        }
    }

    /// Answers come in the order of the orders.
    fn receive_spare(&mut self) {
        let Some((birth, ends)) = self.ordered.take() else { return };
        match self.answer() {
            Ok(answer) => self.spare = shim_of(answer, ends).ok().map(|process| (birth, process)),
            Err(_) => self.is_lost = true,
        }
    }

    fn take_spare(&mut self) -> Option<ShimProcess> {
        self.receive_spare();
        let (birth, mut process) = self.spare.take()?;
        if birth.is_recent() {
            return Some(process);
        }
        drop(process.control.take());
        // Nobody waits for its end, which takes as long as that of a namespace. It is collected with the next one.
        if !process.has_ended() {
            self.outdated.replace(process).into_iter().for_each(end_unused);
        }
        None
    }

    fn end_spare(&mut self) {
        self.receive_spare();
        let spare = self.spare.take().map(|(_, process)| process);
        self.outdated.take().into_iter().chain(spare).for_each(end_unused);
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

    /// The answer to the first order that has none.
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
impl Drop for Template {
    fn drop(&mut self) {
        // It may have ended by itself; collecting it is what counts.
        self.process.kill().ok();
        self.process.wait().ok();
        // Its last answer is there by now, or never will be.
        self.end_spare();
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

/// Ends a spare. It takes its namespace along when nobody can give it a launch any more.
fn end_unused(mut process: ShimProcess) {
    drop(process.control.take());
    let deadline = Instant::now() + SPARE_END_DEADLINE;
    let mut waits = [PollFd::new(&process.frames, PollFlags::IN)];
    while waits[0].revents().is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        wait_for(&mut waits, Some(left));
    }
    end_shim(&mut process);
}

/// Its three streams, and the other ends of them.
fn pipes() -> io::Result<([OwnedFd; STREAMS], [OwnedFd; STREAMS])> {
    let (stdin, control) = io::pipe()?;
    let (frames, stdout) = io::pipe()?;
    let (words, stderr) = io::pipe()?;
    let streams = [stdin.into(), stdout.into(), stderr.into()];
    Ok((streams, [control.into(), frames.into(), words.into()]))
}
