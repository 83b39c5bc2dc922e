//! A pid namespace for one executor: its first process dies with the shim, and with it dies everything inside.
//!
//! ```text
//! writ ── shim ─┬─ init      process 1 of the namespace; only waits
//!               └─ executor  and whatever it starts; orphans go to init
//! ```
//! The shim enters the user and mount namespace too, but keeps its own pid, which nobody inside can see or signal.

use std::ffi::CStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::raw::{self, Ends};
use super::{NamespaceEntry, identities, raw_pid};
use crate::supervisor::process_table::{self, Process};
use crate::supervisor::{namespaces, wait_for};

/// How long the first process may take to get ready. It only makes system calls.
const READY_DEADLINE: Duration = Duration::from_secs(10);
/// The pid of the first process, to those inside.
const INIT: u32 = 1;

/// The namespace that the shim's further children live in.
pub(super) struct Namespace {
    init: Pid,
    /// Means the first process even after it was reaped, when its pid may be another's.
    pinned: OwnedFd,
}

/// Makes a namespace and enters it. Nothing has changed if the system refuses it.
pub(super) fn enter() -> io::Result<NamespaceEntry> {
    let (go, goer) = io::pipe()?;
    let (told, teller) = io::pipe()?;
    let ends = Ends { go: go.as_raw_fd(), goer: goer.as_raw_fd(), teller: teller.as_raw_fd() };
    let init = raw::clone_init(be_init, ends);
    drop((go, teller));
    let init = match init {
        Ok(init) => init,
        // A shortage passes; without a namespace the executor would have less protection for its whole life.
        Err(errno @ (Errno::AGAIN | Errno::NOMEM)) => return Err(errno.into()),
        Err(errno) => return Ok(NamespaceEntry::Refused(refused("a new pid namespace", errno))),
    };
    // Nobody has reaped it yet, so its pid is its own.
    let pinned = match pidfd_open(init, PidfdFlags::empty()) {
        Ok(pinned) => pinned,
        Err(errno) => {
            end(init);
            return match errno {
                Errno::MFILE | Errno::NFILE | Errno::NOMEM => Err(errno.into()),
                _ => Ok(NamespaceEntry::Refused(refused("a descriptor of a process", errno))),
            };
        }
    };
    let prepared = prepare(init, goer, &told);
    match prepared.and_then(|doors| doors.enter_user().map(|()| doors)) {
        Ok(doors) => {
            doors.enter_rest()?;
            Ok(NamespaceEntry::Entered(Namespace { init, pinned }))
        }
        Err(reason) => {
            end(init);
            Ok(NamespaceEntry::Refused(reason))
        }
    }
}

/// The ways into the namespaces of the first process.
struct NamespaceEntrances {
    user: File,
    mount: File,
    pid: File,
}

impl NamespaceEntrances {
    fn of(init: Pid) -> io::Result<Self> {
        let open = |name| File::open(format!("/proc/{}/ns/{name}", init.as_raw_nonzero()));
        Ok(Self { user: open("user")?, mount: open("mnt")?, pid: open("pid")? })
    }

    /// This gives the right to enter the others.
    fn enter_user(&self) -> Result<(), String> {
        let entered = move_into_link_name_space(self.user.as_fd(), Some(LinkNameSpaceType::User));
        entered.map_err(|errno| refused("entering a namespace", errno))
    }

    /// From here on there is no way back. The next child of this process is the first one beside the first process.
    fn enter_rest(&self) -> io::Result<()> {
        move_into_link_name_space(self.mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
        Ok(move_into_link_name_space(self.pid.as_fd(), Some(LinkNameSpaceType::ProcessID))?)
    }
}

/// Lets the first process see itself as its own user, and waits until it has a `/proc` of its own, holds nothing and
/// cannot be traced. Only then may anything run beside it.
fn prepare(init: Pid, goer: PipeWriter, told: &PipeReader) -> Result<NamespaceEntrances, String> {
    // While the first process can still be looked into.
    let doors = NamespaceEntrances::of(init).map_err(|error| refused("entering a namespace", error))?;
    identities::map(init).map_err(|error| refused("own users in a namespace", error))?;
    rustix::io::write(&goer, &raw_pid(init).to_ne_bytes()).map_err(|errno| refused("a pipe", errno))?;
    drop(goer);
    let next = || next_byte(told).map_err(|error| refused("a pipe", error));
    match (next()?, next()?) {
        (Some(0), None) => Ok(doors),
        (Some(0), Some(_)) | (None, _) => Err("the first process of the namespace ended".to_owned()),
        (Some(errno), _) => Err(refused("a new /proc", Errno::from_raw_os_error(i32::from(errno)))),
    }
}

/// The life of the first process. Signals from inside do not reach it, and its children are collected by the kernel.
/// Its memory is the shim's, so nothing is allocated.
fn be_init(ends: &Ends) {
    // The end of this pipe tells that the shim has died, so only the shim may hold the other end.
    ends.close_goer();
    raw::ignore_signals();
    // From here on it dies with the shim. If the shim is dead already, the pipe has ended.
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return;
    }
    let Some(pid) = pid_from(ends.go()) else { return };
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mounted = rustix::mount::mount(c"proc", c"/proc", c"proc", flags, None);
    let errno = mounted.err().map_or(0, |errno| u8::try_from(errno.raw_os_error()).unwrap_or(u8::MAX));
    if errno == 0 && !is_sealed(pid) {
        return;
    }
    if rustix::io::write(ends.teller(), &[errno]).is_err() || errno != 0 {
        return;
    }
    raw::close_all();
    loop {
        rustix::event::pause();
    }
}

/// Its name tells those inside which process it is outside. Who can trace it could keep it alive after the shim; its
/// memory began outside, so even root inside is refused.
fn is_sealed(pid: u32) -> bool {
    let mut name = [0; namespaces::NAME_BYTES_MAX];
    let is_written = write!(&mut name[..], "{}", namespaces::Name(pid)).is_ok();
    let is_named = CStr::from_bytes_until_nul(&name).is_ok_and(|name| rustix::thread::set_name(name).is_ok());
    is_written && is_named && set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

fn pid_from(go: BorrowedFd<'_>) -> Option<u32> {
    let mut bytes = [0; 4];
    loop {
        match rustix::io::read(go, &mut bytes) {
            Ok(length) => return (length == bytes.len()).then(|| u32::from_ne_bytes(bytes)),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// One byte, or nothing at the end of the pipe.
fn next_byte(pipe: &PipeReader) -> io::Result<Option<u8>> {
    let deadline = std::time::Instant::now() + READY_DEADLINE;
    let mut byte = [0; 1];
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let mut waits = [PollFd::new(pipe, PollFlags::IN)];
        wait_for(&mut waits, Some(left));
        if waits[0].revents().is_empty() {
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            continue;
        }
        match rustix::io::read(pipe, &mut byte) {
            Ok(length) => return Ok((length == 1).then_some(byte[0])),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

impl Namespace {
    /// Ends everything inside, in one step that no process can outrun.
    pub(super) fn kill(&self) {
        // If it has ended, so has everything.
        rustix::process::pidfd_send_signal(&self.pinned, Signal::KILL).ok();
    }

    /// Ends the namespace before anything was started in it.
    pub(super) fn end(&self) {
        end(self.init);
    }

    /// What runs inside apart from the first process and the executor. Only the parent of these two is outside.
    pub(super) fn members(&self) -> Vec<Process> {
        inside().into_iter().filter(|process| process.parent != 0 && !process.is_zombie).collect()
    }

    /// Everybody who runs inside, with the executor.
    pub(super) fn everybody(&self) -> Vec<Process> {
        inside()
    }

    /// Whether the executor's group has a live process.
    pub(super) fn has_group_members(&self) -> bool {
        let all = inside();
        let executor = all.iter().filter(|process| process.parent == 0).map(|process| process.pid).min();
        all.iter().any(|process| Some(process.group) == executor && !process.is_zombie)
    }
}

/// All processes in the namespace but the first. This `/proc` is the namespace's own since the shim entered it.
fn inside() -> Vec<Process> {
    process_table::snapshot().into_iter().filter(|process| process.pid != INIT).collect()
}

/// Lets the kernel kill this process when its parent dies. Entering a namespace may have cleared an earlier wish.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Keeps what this process starts from reading or writing its memory and descriptors.
pub(super) fn refuse_tracing() {
    // It never fails for a valid value, and the work can go on without.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
}

/// Ends a namespace with nothing in it but the first process.
fn end(init: Pid) {
    rustix::process::kill_process(init, Signal::KILL).ok();
    rustix::process::waitpid(Some(init), WaitOptions::empty()).ok();
}

fn refused(what: &str, error: impl Display) -> String {
    format!("{what}: {error}")
}
