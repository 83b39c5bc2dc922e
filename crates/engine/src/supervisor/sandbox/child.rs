//! What the executor's process does to itself between its birth and its program.

#![expect(unsafe_code, reason = "pre_exec and close_range have no safe form")]

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, UnshareFlags, remove_capability_from_bounding_set, set_no_new_privs, unshare_unsafe,
};

use super::doors::Doors;
use super::files::Rules;
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
const OOM_SCORE: &str = "500";
/// Standard input, output and error.
const FIRST_OTHER_DESCRIPTOR: u32 = 3;

/// Everything that is prepared for the executor's process.
pub(in crate::supervisor) struct Barrier {
    pub(super) rules: Option<Rules>,
    pub(super) program: Option<Program>,
    /// The namespaces that are new for it: one without any network, one without shared memory of others.
    pub(super) unshares: UnshareFlags,
    /// Whether it is in a namespace in which it may do more than its program will.
    pub(super) drops_capabilities: bool,
    /// The highest pid of its namespace.
    pub(super) pid_max: Option<u32>,
    /// What it opens for the proxy in its network, which is a new one.
    pub(super) doors: Option<Doors>,
}

/// The steps, in the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Processes = 1,
    Limits,
    Namespaces,
    Network,
    Capabilities,
    Descriptors,
    Landlock,
    Seccomp,
    Program,
}

/// Tells how far the process of a failed start came.
pub(in crate::supervisor) struct Progress(PipeReader);

impl Barrier {
    pub(in crate::supervisor) fn open(&mut self, doors: Doors) {
        self.doors = Some(doors);
    }

    /// Lets the process of this command close the barrier around itself. If a step fails, so does the start.
    pub(in crate::supervisor) fn attach(self, command: &mut Command) -> io::Result<Option<Progress>> {
        let (reader, writer) = io::pipe()?;
        let mut barrier = Some(self);
        let close = move || barrier.take().map_or(Ok(()), |barrier| barrier.close(&writer));
        // SAFETY: the shim has one thread, so the child's copy of memory has no lock that somebody else holds.
        unsafe { command.pre_exec(close) };
        Ok(Some(Progress(reader)))
    }

    fn close(self, teller: &PipeWriter) -> io::Result<()> {
        // Told before it is tried; a failed start reads the last one.
        let begin = |step: Step| rustix::io::write(teller, &[step as u8]).map(drop);
        begin(Step::Processes)?;
        if let Some(pid_max) = self.pid_max {
            std::fs::write("/proc/sys/kernel/pid_max", pid_max.to_string())?;
        }
        begin(Step::Limits)?;
        // In a sandbox inside another one `/proc` cannot be written; the outer one has seen to it.
        std::fs::write("/proc/self/oom_score_adj", OOM_SCORE).ok();
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        begin(Step::Namespaces)?;
        if !self.unshares.is_empty() {
            // SAFETY: it changes nothing in memory and no descriptor.
            unsafe { unshare_unsafe(self.unshares) }?;
        }
        begin(Step::Network)?;
        self.doors.map_or(Ok(()), Doors::open)?;
        begin(Step::Capabilities)?;
        if self.drops_capabilities {
            drop_capabilities()?;
        }
        begin(Step::Descriptors)?;
        close_others()?;
        begin(Step::Landlock)?;
        self.rules.map_or(Ok(()), Rules::apply)?;
        begin(Step::Seccomp)?;
        set_no_new_privs(true)?;
        self.program.iter().try_for_each(syscalls::put_in_force)?;
        Ok(begin(Step::Program)?)
    }
}

/// The step in which a start failed. `None` if the sandbox was closed and the program could not be started.
pub(in crate::supervisor) fn failed_step(progress: Progress, command: Command) -> Option<String> {
    // With the command goes the last end for writing.
    drop(command);
    let mut steps = Vec::new();
    let mut reader = progress.0;
    reader.read_to_end(&mut steps).ok()?;
    let names = [
        "processes",
        "limits",
        "namespaces",
        "network",
        "capabilities",
        "descriptors",
        "Landlock",
        "seccomp",
    ];
    names.get(usize::from(steps.last()?.checked_sub(1)?)).map(|name| (*name).to_owned())
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
