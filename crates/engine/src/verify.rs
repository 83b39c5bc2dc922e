//! Runs a task's checks as supervised children and records what they showed.

mod environment;
pub mod pinned;
mod record;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use contract::digest;
use contract::domain::check::{Check, CheckRan, CheckSeen, Expects, first_failed, judge};
use contract::domain::confinement::SandboxMode;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Attempt, Id};
use contract::domain::limits;
use contract::domain::network::{Verdict, Visit};
use contract::domain::scope::Scope;
use contract::secrets::{Hidden, Tail};

use crate::executor::command_line;
use crate::index::Index;
use crate::launcher::{self, ChildLimits, ChildOutput, Launcher, RunError, Shortage, Wish, with_causes};
use crate::sandbox::{self, SandboxRequest, SandboxSettings};
use crate::supervisor::{ChildReport, LaunchSpec, Marker, NOT_LISTED, ProcessExit};

pub(crate) use record::{Recorder, find_program};

/// The problem of a check that was ended at its deadline.
pub(crate) const TOOK_TOO_LONG: &str = "took too long";
/// How much of a check's output is shown to a person.
const TAIL_BYTES: usize = 2000;

/// Where checks run.
#[derive(Clone)]
pub struct CheckLocation<'p> {
    pub launcher: &'p dyn Launcher,
    pub workspace: &'p Path,
    pub index: &'p Index,
    /// The environment of this process. Checks get nothing of it but what their author takes from it by name.
    pub environment: &'p BTreeMap<OsString, OsString>,
    /// The environment of the task's author; `None` if it was not stored.
    pub author: Option<&'p AuthorEnvironment>,
    /// What the task's author adds to it. `env:NAME` is looked up there, or here if it is not stored.
    pub task_env: &'p BTreeMap<String, String>,
    /// What the task may write; empty for the whole workspace.
    pub scopes: &'p [Scope],
    /// How they are confined, as their task is.
    pub wanted: SandboxRequest<'p>,
    pub sandbox: &'p SandboxSettings,
    /// Whose checks they are; names their private directories.
    pub task: &'p str,
}

/// Collects the output of one check.
pub(crate) struct CheckOutput {
    digest: digest::Running,
    printed: bool,
    tail: Tail,
    pub(crate) exit_code: Option<i32>,
    pub(crate) problem: Option<String>,
    pub(crate) ran: Option<Box<CheckRan>>,
    /// Hosts that the proxy denied.
    denied: Vec<String>,
    hidden: Hidden,
}

impl CheckOutput {
    /// Nothing of what a check prints is kept with these values in it.
    pub(crate) fn new(hidden: &Hidden, ran: CheckRan) -> Self {
        Self {
            digest: digest::Running::default(),
            printed: false,
            tail: Tail::new(hidden, TAIL_BYTES),
            exit_code: None,
            problem: None,
            ran: Some(Box::new(ran)),
            denied: Vec::new(),
            hidden: hidden.clone(),
        }
    }

    /// For a setup command, of which nothing is recorded but why it failed.
    pub(crate) fn of_setup(hidden: &Hidden) -> Self {
        Self {
            digest: digest::Running::default(),
            printed: false,
            tail: Tail::new(hidden, TAIL_BYTES),
            exit_code: None,
            problem: None,
            ran: None,
            denied: Vec::new(),
            hidden: hidden.clone(),
        }
    }

    /// Why a command failed, with the last line of what it printed. `None` if it did not.
    pub(crate) fn failure(self) -> Option<String> {
        let reason = match (self.problem, self.exit_code) {
            (Some(problem), _) => problem,
            (None, Some(0)) => return None,
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "it ended without an exit code".to_owned(),
        };
        let printed = self.tail.finish();
        let last = printed.lines().rev().find(|line| !line.trim().is_empty());
        Some(last.map_or(reason.clone(), |last| format!("{reason}: {}", last.trim())))
    }

    /// Takes a report; true when it was the last one.
    pub(crate) fn take(&mut self, report: ChildReport) -> bool {
        match report {
            ChildReport::Started { .. } => {}
            ChildReport::Stdout(bytes) => self.take_stdout(&bytes),
            ChildReport::Stderr(bytes) => self.tail.stderr(&bytes),
            ChildReport::Visited(visit) => self.take_visit(&visit),
            ChildReport::Exceeded(what) => self.problem = Some(format!("its processes used {what}")),
            ChildReport::Exited(exit) => self.take_exit(exit),
            ChildReport::Gone(_) => return true,
            ChildReport::Fault(fault) => {
                self.problem = Some(format!("could not be started: {}", fault.message));
                return true;
            }
            ChildReport::Lost(lost) => {
                self.problem = Some(format!("its supervisor was lost: {}", lost.message));
                return true;
            }
        }
        false
    }

    fn take_stdout(&mut self, bytes: &[u8]) {
        self.printed |= !bytes.is_empty();
        self.digest.update(bytes);
        self.tail.stdout(bytes);
    }

    /// Who looks for the reason of a failure finds a host that was denied where the output is.
    fn take_visit(&mut self, visit: &Visit) {
        // The sums at the end tell it again.
        if visit.verdict == Verdict::Denied && !self.denied.contains(&visit.to) {
            self.denied.push(visit.to.clone());
            let told = self.hidden.clean_lower(&visit.to);
            let reason = visit.reason.as_deref().filter(|reason| *reason != NOT_LISTED);
            let reason = reason.map(|reason| format!(": {}", self.hidden.clean_lower(reason)));
            let by = if reason.is_none() { "allow-list" } else { "proxy" };
            let line = format!("sandbox: the network {by} denied `{told}`{}\n", reason.unwrap_or_default());
            self.tail.stderr(line.as_bytes());
        }
    }

    fn take_exit(&mut self, exit: ProcessExit) {
        match exit {
            ProcessExit::Code(code) => self.exit_code = Some(code),
            ProcessExit::Signal(signal) => {
                self.problem.get_or_insert_with(|| format!("ended by signal {signal}"));
            }
        }
    }

    pub(crate) fn finish(self, check: &Check) -> CheckSeen {
        let verdict = match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => judge(check.expects, self.exit_code, !self.printed),
        };
        CheckSeen {
            command: check.command.clone(),
            expects: check.expects,
            passed: verdict.is_ok(),
            exit_code: self.exit_code,
            output_digest: self.digest.finish(),
            output_tail: self.tail.finish(),
            problem: verdict.err(),
            ran: self.ran,
            tolerated: false,
        }
    }
}

/// A check that needs no process: whether a path exists.
pub(crate) fn look(check: &Check, place: &CheckLocation<'_>, recorder: &Recorder) -> Option<CheckSeen> {
    if check.expects != Expects::FileExists {
        return None;
    }
    let path = check.command.first()?;
    let exists = place.workspace.join(path).exists();
    let mut ran = recorder.before(check, place, &environment::of(place));
    ran.tree_after.clone_from(&ran.tree_before);
    let mut watched = CheckOutput::new(&Hidden::default(), ran);
    watched.exit_code = Some(i32::from(!exists));
    watched.digest.update(path.as_bytes());
    Some(watched.finish(check))
}

/// A check that is about to run: what starts it, what it may not show, and what is recorded of it.
pub(crate) struct PreparedCheck {
    pub(crate) spec: LaunchSpec,
    pub(crate) hidden: Hidden,
    pub(crate) ran: CheckRan,
    /// Why it must not be started.
    pub(crate) problem: Option<String>,
}

pub(crate) fn prepare(
    check: &Check,
    place: &CheckLocation<'_>,
    marker: Marker,
    recorder: &Recorder,
) -> PreparedCheck {
    let argv = command_line(&check.command, check.shell).into_iter().map(OsString::from).collect();
    let environment = environment::of(place);
    let ran = recorder.before(check, place, &environment);
    let mut spec = LaunchSpec::new(argv, place.workspace.to_owned(), marker);
    spec.env = environment.variables;
    spec.confinement.namespace = place.wanted.namespace;
    if place.wanted.mode != SandboxMode::Off {
        place.sandbox.forget_checks(place.task);
    }
    let private = place.sandbox.private_of_checks(place.task);
    let directories = (place.workspace, &private);
    let wanted = place.wanted.for_checks();
    let confined = sandbox::of_child(place.sandbox, &wanted, directories, (&spec.argv, &mut spec.env));
    let problem = match confined {
        Ok(confined) => {
            spec.confinement.sandbox = confined.map(|confined| confined.sandbox);
            None
        }
        Err(reason) => Some(format!("could not be confined: {reason}")),
    };
    PreparedCheck { spec, hidden: environment.hidden, ran, problem }
}

/// Runs all checks one after the other and waits for them. Stops at the first that does not pass. A shortage shows nothing
/// about the task.
pub fn run_all(
    checks: &[Check],
    place: &CheckLocation<'_>,
    attempt: &Id<Attempt>,
) -> Result<Vec<CheckSeen>, Shortage> {
    run_each(checks, place, |check, recorder| run_one(check, place, (attempt, recorder), &mut || true))
}

/// The same while `goes_on` is true; it is called several times a second. `None` if it became false: what was seen
/// by then proves nothing. Waits where the machine is short of something.
pub(crate) fn run_all_while(
    checks: &[Check],
    place: &CheckLocation<'_>,
    attempt: &Id<Attempt>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<CheckSeen>> {
    let run = |check: &Check, recorder: &mut Recorder| loop {
        let seen = run_one(check, place, (attempt, &mut *recorder), &mut *goes_on);
        match (seen, goes_on()) {
            (_, false) => return Err(()),
            (Ok(seen), true) => return Ok(seen),
            (Err(_), true) => place.launcher.pause(limits::SHORTAGE_WAIT_MIN),
        }
    };
    run_each(checks, place, run).ok()
}

fn run_each<E>(
    checks: &[Check],
    place: &CheckLocation<'_>,
    mut run: impl FnMut(&Check, &mut Recorder) -> Result<CheckSeen, E>,
) -> Result<Vec<CheckSeen>, E> {
    let mut all = Vec::new();
    let mut recorder = Recorder::new(place);
    for check in checks {
        all.push(run(check, &mut recorder)?);
        if first_failed(&all).is_some() {
            break;
        }
    }
    Ok(all)
}

/// Looks where that is enough, and else runs the check.
fn run_one(
    check: &Check,
    place: &CheckLocation<'_>,
    (attempt, recorder): (&Id<Attempt>, &mut Recorder),
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<CheckSeen, Shortage> {
    if let Some(seen) = look(check, place, recorder) {
        return Ok(seen);
    }
    let marker = Marker { attempt: attempt.clone(), owner: place.launcher.identity() };
    // What a check prints is digested, not kept, so only its time is bounded.
    let bounds =
        ChildLimits { timeout: limits::CHECK_TIMEOUT, output_bytes_max: usize::MAX, beyond: Wish::Kill };
    let PreparedCheck { spec, hidden, ran, problem } = prepare(check, place, marker, recorder);
    let mut watched = CheckOutput::new(&hidden, ran);
    if problem.is_some() {
        watched.problem = problem;
        return Ok(watched.finish(check));
    }
    let ended = launcher::run(place.launcher, spec, bounds, &mut |seen| {
        match seen {
            ChildOutput::Started(_) => {}
            ChildOutput::Stdout(bytes) => watched.take_stdout(bytes),
            ChildOutput::Stderr(bytes) => watched.tail.stderr(bytes),
            ChildOutput::Tick => return if goes_on() { Wish::GoOn } else { Wish::Kill },
        }
        Wish::GoOn
    });
    if let Some(short_of) = ended.as_ref().err().and_then(RunError::short_of) {
        return Err(short_of);
    }
    match ended {
        Ok(exit) => watched.take_exit(exit),
        Err(RunError::Timeout(_)) => watched.problem = Some(TOOK_TOO_LONG.to_owned()),
        Err(error) => watched.problem = Some(with_causes(&error)),
    }
    if let Some(ran) = &mut watched.ran {
        recorder.after(place, ran);
    }
    Ok(watched.finish(check))
}
