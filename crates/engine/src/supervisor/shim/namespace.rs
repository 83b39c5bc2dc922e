//! A pid namespace for one executor: its first process dies with the shim, and with it dies everything inside.
//!
//! ```text
//! writ ── shim ─┬─ init      process 1 of the namespace; only waits
//!               └─ executor  and whatever it starts; orphans go to init
//! ```
//! The shim enters the user and mount namespace too, but keeps its own pid, which nobody inside can see or signal.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::time::Duration;

use contract::domain::process::NamespaceInit;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use super::{identities, raw, raw_pid};
use crate::supervisor::process_table::{self, Process};
use crate::supervisor::{marked, namespaces, wait_for};

/// How long the first process may take for one step. It only makes system calls.
const STEP_DEADLINE: Duration = Duration::from_secs(10);
/// The pid of the first process, to those inside.
const INIT: u32 = 1;

/// The namespace that the shim's further children live in.
pub(super) struct Namespace {
    pub(super) init: Pid,
    /// All namespaces of writ that the children are in, from the outermost to this one.
    pub(super) path: Vec<NamespaceInit>,
}

/// Makes a namespace and enters it. The inner error says why the system refuses it; nothing has changed then.
pub(super) fn enter() -> io::Result<Result<Namespace, String>> {
    let Some(outside) = marked::own_pid_namespace() else { return Ok(Err("/proc is missing".to_owned())) };
    let mut path = namespaces::own_namespaces();
    let (go, goer) = io::pipe()?;
    let (told, teller) = io::pipe()?;
    let goer = Cell::new(Some(goer));
    let init = raw::clone_init(|| {
        // The end of this pipe tells that the shim has died, so only the shim may hold the other end.
        drop(goer.take());
        be_init(&go, &teller);
    });
    drop((go, teller));
    let init = match init {
        Ok(init) => init,
        Err(errno) => return Ok(Err(refused("a new pid namespace", errno))),
    };
    let goer = goer.take().expect("BUG: only the child takes it");
    match prepare(init, &goer, &told).and_then(|start_time| join(init).map(|()| start_time)) {
        Ok(start_time) => {
            harden(&goer, &told)?;
            path.push(NamespaceInit { outside, pid: raw_pid(init), start_time });
            Ok(Ok(Namespace { init, path }))
        }
        Err(reason) => {
            end(init);
            Ok(Err(reason))
        }
    }
}

/// Lets the first process see itself: as its own user, and in a `/proc` of its own. Gives its start time.
fn prepare(init: Pid, goer: &PipeWriter, told: &PipeReader) -> Result<u64, String> {
    let process = process_table::read(raw_pid(init)).ok_or("the first process cannot be seen")?;
    identities::map(init).map_err(|error| refused("own users in a namespace", error))?;
    rustix::io::write(goer, &[0]).map_err(|errno| refused("a pipe", errno))?;
    match next_byte(told).map_err(|error| refused("a pipe", error))? {
        Some(0) => Ok(process.start_time),
        Some(errno) => Err(refused("a new /proc", Errno::from_raw_os_error(i32::from(errno)))),
        None => Err("the first process of the namespace ended".to_owned()),
    }
}

/// Enters all three namespaces in one step. The next child of this process is the first below `init`.
fn join(init: Pid) -> Result<(), String> {
    let pinned = pidfd_open(init, PidfdFlags::empty()).map_err(|errno| refused("a pidfd", errno))?;
    let all = ThreadNameSpaceType::USER | ThreadNameSpaceType::PROCESS_ID | ThreadNameSpaceType::MOUNT;
    move_into_thread_name_spaces(pinned.as_fd(), all).map_err(|errno| refused("entering a namespace", errno))
}

/// Waits until the first process holds nothing and cannot be traced. Only then may anything run beside it.
fn harden(goer: &PipeWriter, told: &PipeReader) -> io::Result<()> {
    rustix::io::write(goer, &[0])?;
    match next_byte(told)? {
        None => Ok(()),
        Some(_) => Err(io::Error::other("the first process of the namespace is not ready")),
    }
}

/// The life of the first process. Signals from inside do not reach it, and its children are collected by the kernel.
fn be_init(go: &PipeReader, teller: &PipeWriter) {
    raw::ignore_signals();
    // From here on it dies with the shim. If the shim is dead already, the pipe has ended.
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || !goes_on(go) {
        return;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mounted = rustix::mount::mount(c"proc", c"/proc", c"proc", flags, None);
    let errno = mounted.err().map_or(0, |errno| u8::try_from(errno.raw_os_error()).unwrap_or(u8::MAX));
    if rustix::io::write(teller, &[errno]).is_err() || errno != 0 || !goes_on(go) {
        return;
    }
    // Who can trace it could keep it alive after the shim. Its memory began outside, so even root inside is refused.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return;
    }
    raw::close_all();
    loop {
        rustix::event::pause();
    }
}

fn goes_on(go: &PipeReader) -> bool {
    loop {
        match rustix::io::read(go, &mut [0; 1]) {
            Ok(length) => return length == 1,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// One byte, or nothing at the end of the pipe.
fn next_byte(pipe: &PipeReader) -> io::Result<Option<u8>> {
    let deadline = std::time::Instant::now() + STEP_DEADLINE;
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
        // It is a child that was not collected yet, so its pid is its own. If it has ended, so has everything.
        rustix::process::kill_process(self.init, Signal::KILL).ok();
    }

    /// Ends the namespace before anything was started in it.
    pub(super) fn end(&self) {
        end(self.init);
    }

    /// What runs inside apart from the first process and the executor. Only the parent of these two is outside.
    pub(super) fn members(&self) -> Vec<Process> {
        inside().into_iter().filter(|process| process.parent != 0 && !process.is_zombie).collect()
    }

    /// Whether anybody alive is in the executor's group.
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
