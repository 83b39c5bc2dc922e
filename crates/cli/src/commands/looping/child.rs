//! One agent process of a loop: supervised, bounded in time, ended with everything it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::limits::POLL_INTERVAL;
use engine::StopSignal;
use engine::launcher::{self, Bounds, RunError, Seen, Wish};
use engine::supervisor::{Exit, LaunchSpec, Stdin};
use ops::Error;

use super::progress::{Progress, Stream};
use crate::host;

/// What is to be started.
pub(super) struct Child {
    pub(super) argv: Vec<OsString>,
    pub(super) directory: PathBuf,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
}

/// How it ended. Nothing of it runs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(Exit),
    Timeout,
    /// Somebody asked the loop to stop.
    Interrupted,
    /// It could not be started.
    NotStarted(String),
    /// Its supervisor failed or was lost.
    Fault(String),
}

/// Nothing is wrong with the tasks when their agent cannot work, so none of them is touched.
pub(super) fn unstartable(program: &str, why: &str) -> Error {
    Error::new(ErrorCode::Io, format!("could not start `{program}`: {why}"))
        .hint("--command names the agent program; no task was touched")
}

/// Runs the child to its end and shows what it prints; `beat` is called now and then meanwhile.
pub(super) fn run(
    child: Child,
    stop: &StopSignal,
    progress: &mut Progress,
    mut beat: impl FnMut(),
) -> Ending {
    let stdin = if child.input.is_empty() { Stdin::Closed } else { Stdin::Bytes(child.input) };
    let spec =
        LaunchSpec { cwd: child.directory, env: child.environment, stdin, ..host::program(child.argv) };
    let bounds = Bounds { timeout: child.timeout, output_bytes_max: usize::MAX, beyond: Wish::Stop };
    let ended = launcher::run(&host::shim(), spec, bounds, &mut |seen| {
        match seen {
            Seen::Stdout(bytes) => progress.take(Stream::Stdout, bytes),
            Seen::Stderr(bytes) => progress.take(Stream::Stderr, bytes),
            Seen::Tick => {
                beat();
                progress.tick();
            }
        }
        match stop.raised() {
            None => Wish::GoOn,
            Some(_) if stop.insists() => Wish::Kill,
            Some(_) => Wish::Stop,
        }
    });
    match ended {
        Ok(exit) => Ending::Exited(exit),
        Err(RunError::Timeout(_)) => Ending::Timeout,
        Err(RunError::Stopped) => Ending::Interrupted,
        Err(RunError::Start(error)) => Ending::NotStarted(error.to_string()),
        Err(RunError::NotStarted(message)) => Ending::NotStarted(message),
        Err(RunError::Lost(message)) => Ending::Fault(message),
        Err(error @ (RunError::TooMuchOutput(_) | RunError::NoExit)) => Ending::Fault(error.to_string()),
    }
}

/// Waits in small steps, so that a request to stop is heard.
pub(crate) fn pause(length: Duration, stop: &StopSignal) {
    let until = Instant::now() + length;
    let step = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
    while Instant::now() < until && stop.raised().is_none() {
        // Waits without watching anything; an interruption only means looking again.
        rustix::event::poll(&mut [], Some(&step)).ok();
    }
}
