//! The command of a worker: supervised, bounded in time, ended with everything it started.

use std::io::Write;

use contract::domain::crew::token::LockToken;
use contract::secrets::{Hidden, Tail};
use engine::StopSignal;
use engine::launcher::{self, RunError, Seen, Wish};
use engine::supervisor::{Exit, InForce};

use crate::child::{self, Child};
use crate::host;

/// How much of the end of the output is kept for the worklog.
const TAIL_BYTES: usize = 2000;

/// How the command ended. Nothing of it runs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(Exit),
    Timeout,
    Interrupted,
    /// The lease of the assignment was lost.
    LeaseLost,
    /// It could not be started, or its supervisor failed.
    Fault(String),
}

/// How the command ended, and the end of what it printed, without secrets.
pub(super) struct Ended {
    pub(super) ending: Ending,
    /// What confined it, if it was started.
    pub(super) in_force: Option<InForce>,
    pub(super) tail: String,
}

/// Whether the assignment is still this worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Kept,
    Lost,
}

/// Runs the command to its end. What it prints goes to standard error; `beat` is called several times a second.
pub(super) fn run(
    child: Child,
    token: &LockToken,
    stop: &StopSignal,
    mut beat: impl FnMut() -> Hold,
) -> Ended {
    let (spec, bounds) = child.launch();
    let mut tail = Tail::new(&hidden(token), TAIL_BYTES);
    let mut hold = Hold::Kept;
    let mut in_force = None;
    let ended = launcher::run(&host::shim(), spec, bounds, &mut |seen| {
        match seen {
            Seen::Started(confined) => in_force = Some(confined.clone()),
            Seen::Stdout(bytes) => {
                pass_on(bytes);
                tail.stdout(bytes);
            }
            Seen::Stderr(bytes) => {
                pass_on(bytes);
                tail.stderr(bytes);
            }
            Seen::Tick if hold == Hold::Kept => hold = beat(),
            Seen::Tick => {}
        }
        match hold {
            // Somebody else may hold the task already, so the command must not write any more.
            Hold::Lost => Wish::Kill,
            Hold::Kept => child::wish(stop),
        }
    });
    let ending = match (ended, hold) {
        (_, Hold::Lost) => Ending::LeaseLost,
        (Ok(exit), Hold::Kept) => Ending::Exited(exit),
        (Err(RunError::Timeout(_)), Hold::Kept) => Ending::Timeout,
        (Err(RunError::Stopped), Hold::Kept) => Ending::Interrupted,
        (Err(error), Hold::Kept) => Ending::Fault(error.to_string()),
    };
    Ended { ending, in_force, tail: tail.finish() }
}

/// The token that the command gets, and its proof alone: who has it acts as this worker.
fn hidden(token: &LockToken) -> Hidden {
    let mut hidden = Hidden::default();
    if let Some(proof) = token.proof() {
        hidden.add(&token.to_string());
        hidden.add(proof);
    }
    hidden
}

/// The worker's answer is the only thing on standard output.
fn pass_on(bytes: &[u8]) {
    // Nobody can be told that standard error is gone.
    std::io::stderr().write_all(bytes).ok();
}
