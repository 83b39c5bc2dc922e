//! Runs a task's checks as supervised children and records what they showed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use contract::digest;
use contract::domain::check::{Check, CheckSeen, Expects, judge};
use contract::domain::id::{Attempt, Id};
use contract::domain::limits;

use crate::executor::command_line;
use crate::hidden::Hidden;
use crate::launcher::{self, Bounds, Launcher, RunError, Seen, Wish, with_causes};
use crate::supervisor::{Exit, LaunchSpec, Marker, Report};

/// The problem of a check that was ended at its deadline.
pub(crate) const TOOK_TOO_LONG: &str = "took too long";
/// How much of a check's output is shown to a person.
const TAIL_BYTES: usize = 2000;

/// Where checks run.
#[derive(Clone)]
pub struct CheckLocation<'p> {
    pub launcher: &'p dyn Launcher,
    pub workspace: &'p Path,
    pub environment: &'p BTreeMap<OsString, OsString>,
    /// What the task's author adds to it; `env:NAME` is looked up there.
    pub task_env: &'p BTreeMap<String, String>,
}

/// Collects the output of one check.
#[derive(Default)]
pub(crate) struct Watched {
    digest: digest::Running,
    printed: bool,
    tail: Vec<u8>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) problem: Option<String>,
}

impl Watched {
    /// Takes a report; true when it was the last one.
    pub(crate) fn take(&mut self, report: Report) -> bool {
        match report {
            Report::Started { .. } => {}
            Report::Stdout(bytes) => self.take_stdout(&bytes),
            Report::Stderr(bytes) => self.keep(&bytes),
            Report::Exited(exit) => self.take_exit(exit),
            Report::Gone(_) => return true,
            Report::Fault(fault) => {
                self.problem = Some(format!("could not be started: {}", fault.message));
                return true;
            }
            Report::Lost(lost) => {
                self.problem = Some(format!("its supervisor was lost: {}", lost.message));
                return true;
            }
        }
        false
    }

    fn take_stdout(&mut self, bytes: &[u8]) {
        self.printed |= !bytes.is_empty();
        self.digest.update(bytes);
        self.keep(bytes);
    }

    fn take_exit(&mut self, exit: Exit) {
        match exit {
            Exit::Code(code) => self.exit_code = Some(code),
            Exit::Signal(signal) => {
                self.problem.get_or_insert_with(|| format!("ended by signal {signal}"));
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    pub(crate) fn finish(self, check: &Check, hidden: &Hidden) -> CheckSeen {
        let verdict = match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => judge(check.expects, self.exit_code, !self.printed),
        };
        let from = self.tail.len().saturating_sub(TAIL_BYTES);
        let tail = String::from_utf8_lossy(&self.tail[from..]).into_owned();
        CheckSeen {
            command: check.command.clone(),
            expects: check.expects,
            passed: verdict.is_ok(),
            exit_code: self.exit_code,
            output_digest: self.digest.finish(),
            output_tail: hidden.clean(&tail).into_owned(),
            problem: verdict.err(),
        }
    }
}

/// The environment of a check is that of its task. Values from writ's own environment are not stored.
fn confided(place: &CheckLocation<'_>) -> (BTreeMap<OsString, OsString>, Hidden) {
    let mut environment = place.environment.clone();
    let mut hidden = Hidden::default();
    for (name, value) in place.task_env {
        let value = match value.strip_prefix("env:") {
            Some(source) => {
                let Some(value) = place.environment.get(&OsString::from(source)) else { continue };
                hidden.add(&value.to_string_lossy());
                value.clone()
            }
            None => OsString::from(value),
        };
        environment.insert(OsString::from(name), value);
    }
    (environment, hidden)
}

/// A check that needs no process: whether a path exists.
pub(crate) fn look(check: &Check, workspace: &Path) -> Option<CheckSeen> {
    if check.expects != Expects::FileExists {
        return None;
    }
    let path = check.command.first()?;
    let exists = workspace.join(path).exists();
    let mut watched = Watched { exit_code: Some(i32::from(!exists)), ..Watched::default() };
    watched.digest.update(path.as_bytes());
    Some(watched.finish(check, &Hidden::default()))
}

pub(crate) fn launch(check: &Check, place: &CheckLocation<'_>, marker: Marker) -> LaunchSpec {
    let argv = command_line(&check.command, check.shell).into_iter().map(OsString::from).collect();
    let mut spec = LaunchSpec::new(argv, place.workspace.to_owned(), marker);
    spec.env = confided(place).0;
    spec
}

/// Runs all checks one after the other and waits for them. Stops at the first that does not pass.
pub fn run_all(checks: &[Check], place: &CheckLocation<'_>, attempt: &Id<Attempt>) -> Vec<CheckSeen> {
    run_all_while(checks, place, attempt, &mut || true).expect("BUG: it always goes on")
}

/// The same while `goes_on` is true; it is called several times a second. `None` if it became false: what was seen
/// by then proves nothing.
pub(crate) fn run_all_while(
    checks: &[Check],
    place: &CheckLocation<'_>,
    attempt: &Id<Attempt>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<CheckSeen>> {
    let mut all = Vec::new();
    for check in checks {
        let seen = look(check, place.workspace).unwrap_or_else(|| run_one(check, place, attempt, goes_on));
        let passed = seen.passed;
        all.push(seen);
        if !goes_on() {
            return None;
        }
        if !passed {
            break;
        }
    }
    Some(all)
}

fn run_one(
    check: &Check,
    place: &CheckLocation<'_>,
    attempt: &Id<Attempt>,
    goes_on: &mut dyn FnMut() -> bool,
) -> CheckSeen {
    let mut watched = Watched::default();
    let hidden = confided(place).1;
    let marker = Marker { attempt: attempt.clone(), owner: place.launcher.identity() };
    // What a check prints is digested, not kept, so only its time is bounded.
    let bounds = Bounds { timeout: limits::CHECK_TIMEOUT, output_bytes_max: usize::MAX, beyond: Wish::Kill };
    let ended = launcher::run(place.launcher, launch(check, place, marker), bounds, &mut |seen| {
        match seen {
            Seen::Stdout(bytes) => watched.take_stdout(bytes),
            Seen::Stderr(bytes) => watched.keep(bytes),
            Seen::Tick => return if goes_on() { Wish::GoOn } else { Wish::Kill },
        }
        Wish::GoOn
    });
    match ended {
        Ok(exit) => watched.take_exit(exit),
        Err(RunError::Timeout(_)) => watched.problem = Some(TOOK_TOO_LONG.to_owned()),
        Err(error) => watched.problem = Some(with_causes(&error)),
    }
    watched.finish(check, &hidden)
}
