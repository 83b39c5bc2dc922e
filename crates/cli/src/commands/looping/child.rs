//! One agent process of a loop: supervised, bounded in time, ended with everything it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::limits::POLL_INTERVAL;
use engine::StopSignal;
use engine::supervisor::{Exit, Handle, LaunchSpec, Report, Stdin, Supervisor};
use ops::Error;

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

/// Runs the child to its end. What it prints goes to standard error; `beat` is called now and then meanwhile.
pub(super) fn run(child: Child, stop: &StopSignal, mut beat: impl FnMut()) -> Ending {
    let stdin = if child.input.is_empty() { Stdin::Closed } else { Stdin::Bytes(child.input) };
    let spec =
        LaunchSpec { cwd: child.directory, env: child.environment, stdin, ..host::program(child.argv) };
    let (sender, reports) = mpsc::channel();
    // The receiver waits for the last report; it can only be gone if this process is ending.
    let sink = move |report| drop(sender.send(report));
    let handle = match Supervisor::start(&host::shim(), spec, sink) {
        Ok(handle) => handle,
        Err(error) => return Ending::NotStarted(error.to_string()),
    };
    let mut watch = Watch { handle: &handle, stop, deadline: Instant::now() + child.timeout, asked: None };
    let (mut exit, mut started) = (None, false);
    let ending = loop {
        match reports.recv_timeout(POLL_INTERVAL) {
            Ok(Report::Stdout(bytes) | Report::Stderr(bytes)) => pass_on(&bytes),
            Ok(Report::Exited(how)) => exit = Some(how),
            Ok(Report::Started { .. }) => started = true,
            Ok(Report::Gone(_)) | Err(RecvTimeoutError::Disconnected) => break None,
            Ok(Report::Fault(fault)) if !started => break Some(Ending::NotStarted(fault.message)),
            Ok(Report::Fault(fault)) => break Some(Ending::Fault(fault.message)),
            Ok(Report::Lost(lost)) => break Some(Ending::Fault(lost.message)),
            Err(RecvTimeoutError::Timeout) => beat(),
        }
        watch.look();
    };
    let asked = watch.asked;
    handle.join();
    match (ending, asked, exit) {
        (Some(fault), None, _) => fault,
        (_, Some(asked), _) => asked,
        (None, None, Some(exit)) => Ending::Exited(exit),
        (None, None, None) => Ending::Fault("ended without saying how".to_owned()),
    }
}

/// Decides when a child has had its time.
struct Watch<'w> {
    handle: &'w Handle,
    stop: &'w StopSignal,
    deadline: Instant,
    asked: Option<Ending>,
}

impl Watch<'_> {
    fn look(&mut self) {
        if self.stop.insists() {
            self.handle.kill();
        }
        if self.asked.is_some() {
            return;
        }
        if self.stop.raised().is_some() {
            self.asked = Some(Ending::Interrupted);
        } else if Instant::now() >= self.deadline {
            self.asked = Some(Ending::Timeout);
        }
        if self.asked.is_some() {
            // Its grace is the supervisor's to keep: what does not end is ended.
            self.handle.stop();
        }
    }
}

/// Waits in small steps, so that a request to stop is heard.
pub(super) fn pause(length: Duration, stop: &StopSignal) {
    let until = Instant::now() + length;
    let step = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
    while Instant::now() < until && stop.raised().is_none() {
        // Waits without watching anything; an interruption only means looking again.
        rustix::event::poll(&mut [], Some(&step)).ok();
    }
}

/// The answer of the loop is the only thing on standard output.
fn pass_on(bytes: &[u8]) {
    // Nobody can be told that standard error is gone.
    std::io::stderr().write_all(bytes).ok();
}
