//! Starts executors, passes on what they print, and leaves none of their processes behind.

mod confinement;
pub mod frame;
mod killing;
mod launch;
pub mod logs;
mod mark;
mod marked;
mod namespaces;
mod pause;
pub mod process_table;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no network can be restricted there"))]
mod proxy;
mod reader;
pub mod reap;
mod remains;
mod sandbox;
mod shim;
mod shim_process;
mod spawner;
#[cfg(target_os = "linux")]
mod template;
#[cfg(not(target_os = "linux"))]
#[path = "supervisor/no_template.rs"]
mod template;
mod writers;

use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use contract::domain::network::Visit;
use contract::domain::process::StoreFile;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Signal, WaitStatus};

pub use self::confinement::{Confinement, InForce, NamespaceInForce};
pub use self::frame::{Gone, ProcessExit, StartFault};
pub use self::launch::{LaunchSpec, Stdin};
pub use self::mark::{InvalidMarker, Marker, OwnerIdentity, SHIM_VARIABLE, VARIABLE};
pub use self::marked::{MarkedProcess, ProcessRole, find_marked, marked_ancestor, own_pid_namespace};
pub use self::namespaces::{is_alive_inside, own_namespaces};
pub use self::pause::paused;
pub(crate) use self::proxy::NOT_LISTED;
pub use self::proxy::Reachable;
pub use self::reap::{OwnerLives, Reaped, boot_id, end_all_of, is_alive, own_identity, reap_leftovers};
pub use self::remains::{end_engine, look_at, machine, pid_here, settle, whereabouts};
pub use self::sandbox::{Limits, Sandbox, SandboxInForce, SandboxPart};
pub use self::shim::shim_main;
pub use self::writers::writers_of;

use self::frame::{FromShim, LAUNCH_BYTES_MAX, ToShim};
use self::reader::{FrameReader, Request};
use self::shim_process::ShimProcess;

/// How to start a shim: this binary and the hidden words that make it call [`shim_main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShimProgram {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Whether it knows how to be a template, of which all shims but the first are copies.
    pub has_template: bool,
    /// The store that it starts shims for.
    pub store: OnceLock<StoreFile>,
}

/// What an executor does, in the order it happens. `Gone`, `StartFault` or `LostShim` comes once and last, and by then
/// no process of the executor is left except the survivors it counts. The shim ends right after `Gone`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildReport {
    Started {
        pid: u32,
        in_force: InForce,
    },
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// Its processes together used more than they may, and are ended. Says what.
    Exceeded(String),
    /// What became of its requests to one destination so far. A later one replaces it.
    Visited(Visit),
    /// The executor itself ended. The rest of its output may still follow.
    Exited(ProcessExit),
    Gone(Gone),
    /// It could not be started.
    Fault(StartFault),
    /// The shim died before its work was done. What it had started was ended by the marks instead.
    Lost(LostShim),
}

impl ChildReport {
    /// Whether no report of the same executor follows.
    pub fn is_last(&self) -> bool {
        match self {
            ChildReport::Gone(_) | ChildReport::Fault(_) | ChildReport::Lost(_) => true,
            ChildReport::Started { .. }
            | ChildReport::Stdout(_)
            | ChildReport::Stderr(_)
            | ChildReport::Exceeded(_)
            | ChildReport::Visited(_)
            | ChildReport::Exited(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostShim {
    /// What the shim said about it, if anything.
    pub message: String,
    pub reaped: Reaped,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no program to start")]
    NoProgram,
    #[error("the arguments, environment and input take {bytes} bytes, {LAUNCH_BYTES_MAX} are allowed")]
    TooLarge { bytes: usize },
    #[error("could not start the supervising process {}", program.display())]
    Shim { program: PathBuf, source: io::Error },
    #[error("the supervising process {} did not take its task", program.display())]
    Handover { program: PathBuf, source: io::Error },
}

impl StartError {
    /// The system's error number, if it was the system that refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            StartError::NoProgram | StartError::TooLarge { .. } => None,
            StartError::Shim { source, .. } | StartError::Handover { source, .. } => source.raw_os_error(),
        }
    }
}

/// How long a new shim may take to read its launch, and to be ready for it.
const HANDOVER_DEADLINE: Duration = Duration::from_secs(10);
/// Shims that may die of signals to our whole group before one is out of their reach. Nobody presses Ctrl-C so fast.
const SHIMS_MAX: usize = 5;

/// Lets orphans of this process's descendants become its children instead of init's, so that those of a
/// killed shim stay in reach. Does nothing where the system has no such thing.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Ends the process that shims are copies of. For an owner that starts nothing more: when it ends, nothing of it is left.
pub fn end_template() {
    template::end();
}

/// Starts executors.
#[derive(Debug)]
pub struct Supervisor;

impl Supervisor {
    /// Starts one executor. `sink` gets its reports in order, on a thread of their own; while it works,
    /// the executor's output waits.
    pub fn start(
        shim: &ShimProgram,
        spec: LaunchSpec,
        sink: impl FnMut(ChildReport) + Send + 'static,
    ) -> Result<Handle, StartError> {
        if spec.argv.is_empty() {
            return Err(StartError::NoProgram);
        }
        if spec.bytes() > LAUNCH_BYTES_MAX {
            return Err(StartError::TooLarge { bytes: spec.bytes() });
        }
        let (marker, grace) = (spec.marker.clone(), spec.bounded_grace());
        let launch = ToShim::Launch(Box::new(spec)).encode();
        // Escaping can make it longer.
        if launch.len() > LAUNCH_BYTES_MAX {
            return Err(StartError::TooLarge { bytes: launch.len() });
        }
        let failed = |source| StartError::Shim { program: shim.program.clone(), source };
        let (requests, requester) = io::pipe().map_err(failed)?;
        // The thread comes first: if there can be none, nothing was started yet.
        let (reader, taken) = std::sync::mpsc::sync_channel::<FrameReader>(1);
        let thread = std::thread::Builder::new().name("executor".to_owned());
        let run = move || {
            if let Ok(reader) = taken.recv() {
                reader.run(sink);
            }
        };
        let thread = thread.spawn(run).map_err(failed)?;
        let starting = pause::starting();
        let started = start_shim(shim, &marker, &launch);
        drop(starting);
        let (child, control) = match started {
            Ok(started) => started,
            Err(error) => {
                drop(reader);
                // It has nothing to read and ends at once.
                thread.join().ok();
                return Err(error);
            }
        };
        let shim_pid = child.id();
        // The thread waits for it.
        reader.send(FrameReader::new(child, marker, grace, requests)).ok();
        Ok(Handle { shim_pid, control: Mutex::new(control), requester, thread })
    }
}

/// One running executor. Dropping it kills the executor.
#[derive(Debug)]
pub struct Handle {
    shim_pid: u32,
    control: Mutex<OwnedFd>,
    requester: PipeWriter,
    thread: JoinHandle<()>,
}

impl Handle {
    /// Asks the executor to end, and ends it after its grace. Returns at once.
    pub fn stop(&self) {
        self.request(&ToShim::Stop, Request::Stop);
    }

    /// Ends the executor and everything below it. Returns at once.
    pub fn kill(&self) {
        self.request(&ToShim::Kill, Request::Kill);
    }

    /// Gives the executor more to read, if its input was kept open. One that cannot be given it is ended.
    pub fn write(&self, bytes: &[u8]) {
        let written = {
            let control = self.control.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            write_all(&control, &ToShim::Input(bytes.to_vec()).encode(), HANDOVER_DEADLINE)
        };
        if written.is_err() {
            self.kill();
        }
    }

    /// Whether nothing is left to wait for.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the last report was handed over and the shim has ended.
    pub fn join(self) {
        let Self { control, requester, thread, .. } = self;
        // A sink that panicked has ended its thread; the shim then saw its pipe close and ended the executor.
        thread.join().ok();
        drop((control, requester));
    }

    /// The shim's own pid.
    pub fn shim_pid(&self) -> u32 {
        self.shim_pid
    }

    fn request(&self, order: &ToShim, request: Request) {
        let control = self.control.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A shim that does not take it is dead or stuck. The reader finds out either way.
        write_all(&control, &order.encode(), Duration::ZERO).ok();
        rustix::io::write(&self.requester, &[request.byte()]).ok();
    }
}

/// A shim that has its launch and that no signal can hit which is meant for us.
fn start_shim(
    shim: &ShimProgram,
    marker: &Marker,
    launch: &[u8],
) -> Result<(ShimProcess, OwnedFd), StartError> {
    let mut shims = 0;
    loop {
        shims += 1;
        let failed = |source| StartError::Shim { program: shim.program.clone(), source };
        let mut child = spawner::start(shim, marker).map_err(failed)?;
        let source = match take_launch(&mut child, launch) {
            Ok(control) => return Ok((child, control)),
            Err(source) => source,
        };
        let died_of = end_shim(&mut child).and_then(WaitStatus::terminating_signal);
        let meant_for_us = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
        // It dies of these only before it is ready, and so before it has started anything.
        if shims == SHIMS_MAX || !died_of.is_some_and(|signal| meant_for_us.contains(&signal)) {
            return Err(StartError::Handover { program: shim.program.clone(), source });
        }
    }
}

/// The new shim gets its launch, and is ready. One that fails is ended.
fn take_launch(child: &mut ShimProcess, launch: &[u8]) -> io::Result<OwnedFd> {
    let control = hand_over(child, launch)?;
    if let Err(error) = await_ready(child, HANDOVER_DEADLINE) {
        end_shim(child);
        // It may have become ready at the last moment and have started something, so that nothing is started in its place.
        // Its end is reported as that of any other that was lost.
        await_ready(child, Duration::ZERO).map_err(|_| error)?;
    }
    Ok(control)
}

fn hand_over(child: &mut ShimProcess, launch: &[u8]) -> io::Result<OwnedFd> {
    let control = child.control.take().ok_or(io::ErrorKind::BrokenPipe)?;
    // Never wait without a deadline for a program that may not be a shim at all.
    rustix::io::ioctl_fionbio(&control, true)?;
    write_all(&control, launch, HANDOVER_DEADLINE)?;
    Ok(control)
}

/// Waits for the shim's first frame: it has left our group and catches its signals.
fn await_ready(child: &ShimProcess, patience: Duration) -> io::Result<()> {
    let frames = &child.frames;
    let mut expected = Vec::new();
    FromShim::Ready.encode_into(&mut expected);
    let mut left = expected.as_slice();
    let deadline = Instant::now() + patience;
    while !left.is_empty() {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let mut waits = [PollFd::new(frames, PollFlags::IN)];
        wait_for(&mut waits, Some(remaining));
        if waits[0].revents().is_empty() {
            if remaining.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            continue;
        }
        let mut buffer = [0; frame::HEADER_BYTES];
        match rustix::io::read(frames, &mut buffer[..left.len()]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                let rest = left.strip_prefix(&buffer[..length]);
                left = rest.ok_or(io::ErrorKind::InvalidData)?;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn write_all(pipe: &OwnedFd, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    while !bytes.is_empty() {
        match rustix::io::write(pipe, bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                wait_for(&mut [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT)], Some(left));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Ends a shim that has nothing left to do, or cannot be trusted to do it.
fn end_shim(child: &mut ShimProcess) -> Option<WaitStatus> {
    child.kill();
    child.wait().ok()
}

/// Waits until one of `waits` is ready or the time is over. An interruption only means looking again.
fn wait_for(waits: &mut [PollFd<'_>], timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| rustix::event::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    // A poll that fails for want of memory is repeated by the loop around it, like an interrupted one.
    if rustix::event::poll(waits, timeout.as_ref()) == Err(Errno::INVAL) {
        pause_blindly(timeout.as_ref());
    }
}

/// With a lowered descriptor limit, `poll` may refuse the descriptors that are open. Then it polls at intervals.
fn pause_blindly(timeout: Option<&rustix::event::Timespec>) {
    const STEP: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    let step = timeout.filter(|timeout| **timeout < STEP).unwrap_or(&STEP);
    rustix::event::poll(&mut [], Some(step)).ok();
}
