//! The few calls that neither the standard library nor rustix has: a child that begins in new namespaces, and what it
//! does to be nothing but their first process.

#![expect(unsafe_code, reason = "clone3, fork, dup3, close_range and signal have no safe form")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM};

/// Above the numbers of the descriptors that a process keeps.
const FREE_FROM: u8 = 16;

/// `struct clone_args` up to `tls`, which every kernel with this call knows.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// A child in a user, a pid and a mount namespace of its own. It runs `life`, and ends with it.
/// The caller has no other thread.
pub(super) fn clone_init(life: impl FnOnce()) -> Result<Pid, Errno> {
    let flags = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS).cast_unsigned();
    let arguments = CloneArguments {
        flags: u64::from(flags),
        exit_signal: u64::from(SIGCHLD.cast_unsigned()),
        ..CloneArguments::default()
    };
    // SAFETY: the kernel reads `arguments`, which outlives the call, and writes nothing. Without CLONE_VM the child
    // has a copy of all memory, as after fork, and since this process has one thread, no lock in it is held.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, std::mem::size_of::<CloneArguments>())
    };
    match pid {
        0 => {
            life();
            exit()
        }
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw).expect("BUG: a child has a pid")),
    }
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

/// Closes every descriptor of this process but these, which get the first numbers. Only for a process that holds no
/// other one that it believes in.
pub(super) fn keep_only<const N: usize>(kept: [OwnedFd; N]) -> Option<[OwnedFd; N]> {
    let count = u32::try_from(N).ok()?;
    // First out of the way of the numbers that they get.
    let above =
        kept.map(|descriptor| rustix::io::fcntl_dupfd_cloexec(&descriptor, i32::from(FREE_FROM)).ok());
    for (number, descriptor) in (0..).zip(&above) {
        // SAFETY: what had this number is not used any more, as the caller promises.
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
        // SAFETY: it was made above, and nobody else owns it.
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
