//! What the executor's process does to itself between its birth and its program.

#![expect(unsafe_code, reason = "close_range and unshare have no safe form")]

use std::ffi::CStr;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, UnshareFlags, remove_capability_from_bounding_set, set_no_new_privs, unshare_unsafe,
};

use super::doors::ProxyDoors;
use super::files::FileRules;
use super::syscalls::{self, Program};

/// What root inside keeps: what a build does to files, and changing users.
const CAPABILITIES_KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);
/// If the whole machine runs out of memory, the kernel ends these processes first.
const OOM_SCORE: u32 = 500;
/// Of a number of 32 bits.
const DIGITS_MAX: usize = 10;
/// Standard input, output and error.
const FIRST_OTHER_DESCRIPTOR: u32 = 3;

/// Everything that is prepared for the executor's process.
pub(in crate::supervisor) struct Barrier {
    pub(super) rules: Option<FileRules>,
    pub(super) program: Option<Program>,
    /// The namespaces that are new for it: one without any network, one without shared memory of others.
    pub(super) unshares: UnshareFlags,
    /// Whether it is in a namespace in which it may do more than its program will.
    pub(super) drops_capabilities: bool,
    /// The highest pid of its namespace.
    pub(super) pid_max: Option<u32>,
    /// What it opens for the proxy in its network, which is a new one.
    pub(super) doors: Option<ProxyDoors>,
    /// Directories that are only in memory.
    pub(super) in_memory: Vec<PathBuf>,
}

/// The steps, in the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::supervisor) enum SandboxStep {
    Processes,
    Limits,
    Namespaces,
    Network,
    Capabilities,
    Descriptors,
    Landlock,
    Seccomp,
    Program,
}

impl SandboxStep {
    /// As people read it. `None` if the sandbox was closed and the program could not be started.
    pub(in crate::supervisor) fn name(self) -> Option<&'static str> {
        match self {
            SandboxStep::Processes => Some("processes"),
            SandboxStep::Limits => Some("limits"),
            SandboxStep::Namespaces => Some("namespaces"),
            SandboxStep::Network => Some("network"),
            SandboxStep::Capabilities => Some("capabilities"),
            SandboxStep::Descriptors => Some("descriptors"),
            SandboxStep::Landlock => Some("Landlock"),
            SandboxStep::Seccomp => Some("seccomp"),
            SandboxStep::Program => None,
        }
    }
}

impl Barrier {
    pub(in crate::supervisor) fn open(&mut self, doors: ProxyDoors) {
        self.doors = Some(doors);
    }

    /// Directories of the namespace that are only in memory.
    pub(in crate::supervisor) fn in_memory(&self) -> Vec<PathBuf> {
        self.in_memory.clone()
    }

    /// Closes the barrier around this process. Each step is reported before it is tried; if one fails, nothing may be started.
    pub(in crate::supervisor) fn close(&self, mut begin: impl FnMut(SandboxStep)) -> io::Result<()> {
        begin(SandboxStep::Processes);
        if let Some(pid_max) = self.pid_max {
            put(c"/proc/sys/kernel/pid_max", pid_max)?;
        }
        begin(SandboxStep::Limits);
        // In a sandbox inside another one `/proc` cannot be written; the outer one has seen to it.
        put(c"/proc/self/oom_score_adj", OOM_SCORE).ok();
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        begin(SandboxStep::Namespaces);
        if !self.unshares.is_empty() {
            // SAFETY: it changes nothing in memory and no descriptor.
            unsafe { unshare_unsafe(self.unshares) }?;
        }
        begin(SandboxStep::Network);
        self.doors.as_ref().map_or(Ok(()), ProxyDoors::open)?;
        begin(SandboxStep::Capabilities);
        if self.drops_capabilities {
            drop_capabilities()?;
        }
        begin(SandboxStep::Descriptors);
        close_others()?;
        begin(SandboxStep::Landlock);
        self.rules.as_ref().map_or(Ok(()), FileRules::apply)?;
        begin(SandboxStep::Seccomp);
        set_no_new_privs(true)?;
        self.program.iter().try_for_each(syscalls::put_in_force)?;
        begin(SandboxStep::Program);
        Ok(())
    }
}

/// Writes a number to a file of the kernel.
fn put(file: &CStr, number: u32) -> io::Result<()> {
    let mut text = io::Cursor::new([0; DIGITS_MAX]);
    write!(text, "{number}")?;
    let length = usize::try_from(text.position()).map_err(|_| io::ErrorKind::InvalidData)?;
    let file = rustix::fs::open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, &text.get_ref()[..length])?;
    Ok(())
}

/// A program of root gets what is in the bounding set; everybody else's gets nothing anyway.
fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter().filter(|one| !CAPABILITIES_KEPT.contains(*one)) {
        match remove_capability_from_bounding_set(capability) {
            // The kernel does not know it.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Nothing but the three standard streams reaches the program, whatever writ itself inherited.
fn close_others() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: marks descriptors to be closed by the start of the program. None is closed now.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST_OTHER_DESCRIPTOR, u32::MAX, flags) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
