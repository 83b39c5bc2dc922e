//! The few calls that neither the standard library nor rustix has: a child that begins in new namespaces, and what it
//! does to be nothing but their first process.

#![expect(unsafe_code, reason = "clone, fork, dup3, close_range and signal have no safe form")]

use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::c_long;
use rustix::io::Errno;
use rustix::process::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM};

/// Above the numbers of the descriptors that a process keeps.
const FREE_FROM: u8 = 16;
/// The first process makes a few calls and then waits.
const STACK_BYTES: usize = 64 * 1024;
/// The executor's process also looks for its program, with paths of any length on its stack.
const START_STACK_BYTES: usize = 256 * 1024;
/// For what a call may be given and is not.
const NONE: c_long = 0;
/// What a stack begins at a multiple of.
const STACK_ALIGNMENT: usize = 16;

/// A child in a user, a pid and a mount namespace of its own. It runs `life`, and ends with it.
///
/// It has the same memory as this process: a copy would cost more than the namespaces do, because each page that
/// this process writes to afterwards would be copied too. So `life` must not allocate, panic or change what it is given,
/// and this process must wait while `life` makes calls that can fail: they have one error number together.
pub(super) fn clone_init(life: fn(&Ends), ends: Ends) -> Result<Pid, Errno> {
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_VM | SIGCHLD;
    // Both are needed as long as the child lives, which this process cannot know, and there is only one child.
    let stack = ManuallyDrop::new(Vec::<u8>::with_capacity(STACK_BYTES)).as_mut_ptr();
    let born = Box::leak(Box::new(Born { life, ends }));
    let end = stack.wrapping_add(STACK_BYTES);
    let top = end.wrapping_sub(end.addr() % STACK_ALIGNMENT);
    // SAFETY: the stack and the argument are never freed. The child has its own descriptors and signal handlers.
    // It shares the memory, in which it writes to its own stack only.
    let pid = unsafe { libc::clone(begin, top.cast(), flags, (&raw mut *born).cast()) };
    match pid {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
        pid => Ok(Pid::from_raw(pid).expect("BUG: a child has a pid")),
    }
}

/// A process that has the memory of this one until its program begins or it ends, and this one stands still meanwhile. It runs
/// `life`, which returns only if there is no program. The caller has no other thread.
pub(super) fn start<F: FnMut()>(life: &mut F) -> Result<Pid, Errno> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | SIGCHLD;
    let mut stack = Vec::<u8>::with_capacity(START_STACK_BYTES);
    let end = stack.as_mut_ptr().wrapping_add(START_STACK_BYTES);
    let top = end.wrapping_sub(end.addr() % STACK_ALIGNMENT);
    // SAFETY: what the child does with the memory happens while this process waits, as in a call of a function, and both the
    // stack and `life` are here until then. It has its own descriptors and signal handlers.
    let pid = unsafe { libc::clone(live::<F>, top.cast(), flags, (&raw mut *life).cast()) };
    match pid {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
        pid => Ok(Pid::from_raw(pid).expect("BUG: a child has a pid")),
    }
}

/// Where that process begins.
extern "C" fn live<F: FnMut()>(life: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` made it for this call and waits.
    let life = unsafe { &mut *life.cast::<F>() };
    life();
    exit()
}

/// The descriptors that the first process is given, by number: it has its own copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// Tells its pid outside, and ends when this process dies.
    pub(super) go: RawFd,
    /// The other end, which the child must not keep open.
    pub(super) goer: RawFd,
    pub(super) teller: RawFd,
}

impl Ends {
    pub(super) fn close_goer(self) {
        // SAFETY: the child does not use it.
        unsafe { rustix::io::close(self.goer) };
    }

    pub(super) fn go(&self) -> BorrowedFd<'_> {
        // SAFETY: the child closes it with everything else when it needs it no more.
        unsafe { BorrowedFd::borrow_raw(self.go) }
    }

    pub(super) fn teller(&self) -> BorrowedFd<'_> {
        // SAFETY: as above.
        unsafe { BorrowedFd::borrow_raw(self.teller) }
    }
}

struct Born {
    life: fn(&Ends),
    ends: Ends,
}

/// Where the child begins.
extern "C" fn begin(born: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `clone_init` made it for this call and never frees it.
    let born = unsafe { &*born.cast::<Born>() };
    (born.life)(&born.ends);
    exit()
}

/// A child with a copy of everything. It runs `life`, and ends with it. The caller has no other thread.
pub(super) fn fork(life: impl FnOnce()) -> Result<Pid, Errno> {
    // SAFETY: since this process has one thread, no lock in the child's copy of memory is held.
    match unsafe { libc::fork() } {
        0 => {
            life();
            exit()
        }
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
        pid => Ok(Pid::from_raw(pid).expect("BUG: a child has a pid")),
    }
}

/// A copy of this process that is a child of its parent, not of itself. Returns in both: `None` in the copy. The caller has no
/// other thread.
pub(super) fn copy_beside() -> Result<Option<Pid>, Errno> {
    let flags = libc::CLONE_PARENT | SIGCHLD;
    // SAFETY: without a stack of its own the copy goes on here with a copy of this one. Since this process has one thread, no
    // lock in the copy's memory is held. What the C library would do about a fork is about threads and its own handlers.
    match unsafe { libc::syscall(libc::SYS_clone, c_long::from(flags), NONE, NONE, NONE, NONE) } {
        0 => Ok(None),
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
        pid => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            Ok(Some(pid.expect("BUG: a child has a pid")))
        }
    }
}

/// Closes every descriptor of this process but these, which get the first numbers. Only for a process that holds no
/// other one that it believes in.
pub(super) fn keep_only<const N: usize>(kept: [OwnedFd; N]) -> Option<[OwnedFd; N]> {
    let count = u32::try_from(N).ok()?;
    // First out of the way of the numbers that they get.
    let above =
        kept.map(|descriptor| rustix::io::fcntl_dupfd_cloexec(&descriptor, i32::from(FREE_FROM)).ok());
    for (number, descriptor) in (0..).zip(&above) {
        // SAFETY: the caller promises that this descriptor is no longer used.
        if unsafe { libc::dup3(descriptor.as_ref()?.as_raw_fd(), number, libc::O_CLOEXEC) } == -1 {
            return None;
        }
    }
    // The ones from which the first were made are closed here, and not again by their owners.
    above.into_iter().flatten().for_each(std::mem::forget);
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, count, u32::MAX, 0) };
    let mut number = 0;
    Some([(); N].map(|()| {
        number += 1;
        // SAFETY: it was made above and has no other owner.
        unsafe { OwnedFd::from_raw_fd(number - 1) }
    }))
}

/// Takes back the shim's handlers. To the first process of a namespace, signals without a handler do not come, and the
/// kernel collects the children of a process that ignores their end.
pub(super) fn ignore_signals() {
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGPIPE] {
        // SAFETY: sets the disposition of one signal of this process. No handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: as above.
    unsafe { libc::signal(SIGCHLD, libc::SIG_IGN) };
}

/// Closes every descriptor of this process.
pub(super) fn close_all() {
    // SAFETY: the one caller never returns to code that believes in a descriptor.
    unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) };
}

/// Ends this process without running anything that was meant for the shim's end.
fn exit() -> ! {
    // SAFETY: ends the process; nothing runs afterwards.
    unsafe { libc::_exit(1) }
}
