//! One agent process of a loop: supervised, bounded in time, ended with everything it started.

use contract::domain::code::ErrorCode;
use engine::StopSignal;
use engine::launcher::{self, RunError, Seen};
use engine::supervisor::{Exit, InForce};
use ops::Error;

use super::progress::{Progress, Stream};
use crate::child::{self, Child};
use crate::host;

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

/// Runs the child to its end and shows what it prints; `beat` is called now and then meanwhile. Returns what confined it, too.
pub(super) fn run(
    child: Child,
    stop: &StopSignal,
    progress: &mut Progress,
    mut beat: impl FnMut(),
) -> (Ending, Option<InForce>) {
    let (spec, bounds) = child.launch();
    let mut confined = None;
    let ended = launcher::run(&host::shim(), spec, bounds, &mut |seen| {
        match seen {
            Seen::Started(in_force) => confined = Some(in_force.clone()),
            Seen::Stdout(bytes) => progress.take(Stream::Stdout, bytes),
            Seen::Stderr(bytes) => progress.take(Stream::Stderr, bytes),
            Seen::Tick => {
                beat();
                progress.tick();
            }
        }
        child::wish(stop)
    });
    let ending = match ended {
        Ok(exit) => Ending::Exited(exit),
        Err(RunError::Timeout(_)) => Ending::Timeout,
        Err(RunError::Stopped) => Ending::Interrupted,
        Err(RunError::Start(error)) => Ending::NotStarted(error.to_string()),
        Err(RunError::NotStarted(fault)) => Ending::NotStarted(fault.message),
        Err(RunError::Lost(message)) => Ending::Fault(message),
        Err(error @ (RunError::TooMuchOutput(_) | RunError::Exceeded(_) | RunError::NoExit)) => {
            Ending::Fault(error.to_string())
        }
    };
    (ending, confined)
}
