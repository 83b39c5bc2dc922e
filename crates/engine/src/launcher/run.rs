//! Runs one child to its end, for every caller that waits for it.

use std::time::Duration;

use contract::domain::limits::POLL_INTERVAL;

use super::{Children, Launcher, Shortage};
use crate::supervisor::{
    ChildReport, InForce, LaunchSpec, NamespaceInForce, ProcessExit, StartError, StartFault,
};

/// What one child may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    pub timeout: Duration,
    /// On standard output.
    pub output_bytes_max: usize,
    /// What happens to a child that exceeds a bound: `Stop` gives it its grace.
    pub beyond: Wish,
}

/// What happens while a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildOutput<'s> {
    /// It runs, confined like this.
    Started(&'s InForce),
    Stdout(&'s [u8]),
    Stderr(&'s [u8]),
    /// Time passed. Comes several times a second, also while the child prints.
    Tick,
}

/// What the caller wants to happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    GoOn,
    /// Ask the child to end, and end it after its grace.
    Stop,
    /// End it at once.
    Kill,
}

/// Why a child did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("could not be started: {}", .0.message)]
    NotStarted(StartFault),
    #[error("did not end within {0:?}")]
    Timeout(Duration),
    #[error("printed more than {0} bytes")]
    TooMuchOutput(usize),
    #[error("its processes used {0}")]
    Exceeded(String),
    #[error("was stopped")]
    Stopped,
    #[error("its supervisor was lost: {0}")]
    Lost(String),
    #[error("ended without an exit status")]
    NoExit,
}

impl RunError {
    /// What the machine was short of, if the child could not be started because of that.
    pub(crate) fn short_of(&self) -> Option<Shortage> {
        match self {
            RunError::Start(error) => Shortage::of(error.errno()),
            RunError::NotStarted(fault) => Shortage::of(fault.errno),
            RunError::Timeout(_)
            | RunError::TooMuchOutput(_)
            | RunError::Exceeded(_)
            | RunError::Stopped
            | RunError::Lost(_)
            | RunError::NoExit => None,
        }
    }
}

/// The only child of its group.
const ONLY: u64 = 0;

/// Starts the child, shows `watch` what it prints, and waits for its end. Nothing of it runs when this returns.
pub fn run(
    launcher: &dyn Launcher,
    spec: LaunchSpec,
    bounds: ChildLimits,
    watch: &mut dyn FnMut(ChildOutput<'_>) -> Wish,
) -> Result<ProcessExit, RunError> {
    let mut children = launcher.children();
    children.start(ONLY, spec)?;
    let mut running = Running { children, bounds, printed: 0, has_started: false, exit: None, error: None };
    let begun_ms = launcher.monotonic_ms();
    let mut ticked_ms = begun_ms;
    loop {
        let report = running.children.next(POLL_INTERVAL.min(bounds.timeout));
        if report.is_some_and(|(_, report)| running.take(report, watch)) {
            break;
        }
        let now_ms = launcher.monotonic_ms();
        if now_ms - begun_ms >= millis(bounds.timeout) {
            running.end(bounds.beyond, RunError::Timeout(bounds.timeout));
        }
        if now_ms - ticked_ms >= millis(POLL_INTERVAL) {
            ticked_ms = now_ms;
            running.end(watch(ChildOutput::Tick), RunError::Stopped);
        }
    }
    match (running.error, running.exit) {
        (Some(error), _) => Err(error),
        (None, Some(exit)) => Ok(exit),
        (None, None) => Err(RunError::NoExit),
    }
}

struct Running {
    children: Box<dyn Children>,
    bounds: ChildLimits,
    printed: usize,
    has_started: bool,
    exit: Option<ProcessExit>,
    error: Option<RunError>,
}

impl Running {
    /// Takes a report; true when it was the last one.
    fn take(&mut self, report: ChildReport, watch: &mut dyn FnMut(ChildOutput<'_>) -> Wish) -> bool {
        match report {
            ChildReport::Started { in_force, .. } => {
                self.has_started = true;
                self.end(watch(ChildOutput::Started(&in_force)), RunError::Stopped);
            }
            ChildReport::Visited(_) => {}
            ChildReport::Stdout(bytes) => {
                self.printed = self.printed.saturating_add(bytes.len());
                if self.printed > self.bounds.output_bytes_max {
                    let limit = self.bounds.output_bytes_max;
                    self.end(self.bounds.beyond, RunError::TooMuchOutput(limit));
                } else {
                    self.end(watch(ChildOutput::Stdout(&bytes)), RunError::Stopped);
                }
            }
            ChildReport::Stderr(bytes) => self.end(watch(ChildOutput::Stderr(&bytes)), RunError::Stopped),
            ChildReport::Exceeded(what) => {
                self.error.get_or_insert(RunError::Exceeded(what));
            }
            ChildReport::Exited(exit) => self.exit = Some(exit),
            ChildReport::Gone(_) => return true,
            ChildReport::Fault(fault) if self.has_started => {
                self.error.get_or_insert(RunError::Lost(fault.message));
                return true;
            }
            ChildReport::Fault(fault) => {
                self.error.get_or_insert(RunError::NotStarted(fault));
                return true;
            }
            ChildReport::Lost(lost) => {
                self.error.get_or_insert(RunError::Lost(lost.message));
                return true;
            }
        }
        false
    }

    /// Ends the child as asked for. The first reason stays.
    fn end(&mut self, wish: Wish, reason: RunError) {
        match wish {
            Wish::GoOn => return,
            Wish::Stop if self.error.is_none() => self.children.stop(ONLY),
            Wish::Stop => {}
            Wish::Kill => self.children.kill(ONLY),
        }
        self.error.get_or_insert(reason);
    }
}

/// Bytes of an answer, at most.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Of what a program complains about, at most.
const COMPLAINT_BYTES_MAX: usize = 64 * 1024;

/// What a program printed, and how it ended. Whether a failed program has answered is the caller's decision.
#[derive(Debug)]
pub struct Answered {
    pub printed: Vec<u8>,
    /// The beginning of standard error.
    pub complaint: Vec<u8>,
    pub exit: ProcessExit,
}

/// Runs a program that reads its input, answers on standard output and ends.
pub fn ask(launcher: &dyn Launcher, spec: LaunchSpec, timeout: Duration) -> Result<Answered, RunError> {
    let (mut printed, mut complaint) = (Vec::new(), Vec::new());
    let bounds = ChildLimits { timeout, output_bytes_max: ANSWER_BYTES_MAX, beyond: Wish::Kill };
    let exit = run(launcher, spec, bounds, &mut |seen| {
        match seen {
            ChildOutput::Stdout(bytes) => printed.extend_from_slice(bytes),
            ChildOutput::Stderr(bytes) => {
                let room = COMPLAINT_BYTES_MAX.saturating_sub(complaint.len()).min(bytes.len());
                complaint.extend_from_slice(&bytes[..room]);
            }
            ChildOutput::Started(_) | ChildOutput::Tick => {}
        }
        Wish::GoOn
    })?;
    Ok(Answered { printed, complaint, exit })
}

/// How long a program may take that only shows what is in force.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Whether a child gets a namespace here, found out with a program that does nothing and ends.
pub fn namespace_here(launcher: &dyn Launcher, spec: LaunchSpec) -> Result<NamespaceInForce, RunError> {
    confinement_here(launcher, spec).map(|in_force| in_force.namespace)
}

/// The same for everything that can confine a child.
pub fn confinement_here(launcher: &dyn Launcher, spec: LaunchSpec) -> Result<InForce, RunError> {
    let mut children = launcher.children();
    children.start(ONLY, spec)?;
    let deadline_ms = launcher.monotonic_ms().saturating_add(millis(TRIAL_TIMEOUT));
    loop {
        let answer = match children.next(POLL_INTERVAL) {
            Some((_, ChildReport::Started { in_force, .. })) => Ok(in_force),
            Some((_, ChildReport::Fault(fault))) => Err(RunError::NotStarted(fault)),
            Some((_, ChildReport::Lost(lost))) => Err(RunError::Lost(lost.message)),
            None if launcher.monotonic_ms() >= deadline_ms => Err(RunError::Timeout(TRIAL_TIMEOUT)),
            Some(_) | None => continue,
        };
        children.end_all();
        return answer;
    }
}

fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
