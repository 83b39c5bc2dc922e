//! The checks of an attempt, one after the other, each in a process of its own.

use contract::domain::check::CheckSeen;
use contract::domain::checkpoint::{self, Recovery};
use contract::domain::limits;
use contract::domain::plan::PlanTask;

use super::{AttemptStep, started};
use crate::dispatcher::engine_run::EngineRun;
use crate::dispatcher::live::{Live, ReturnStep};
use crate::dispatcher::processes::RunningProcess;
use crate::dispatcher::task_work::TaskWork;
use crate::dispatcher::{check_location, isolated, millis, pins};
use crate::observer::TaskProgress;
use crate::supervisor::Marker;
use crate::verify::{self, CheckOutput, PreparedCheck, Recorder, prepare};

/// Looks at the workspace and runs the first check.
pub(super) fn begin(engine: &EngineRun<'_>, work: &TaskWork, live: &mut Live) -> AttemptStep {
    if work.spec().checks.is_empty() {
        return AttemptStep::Conclude;
    }
    if !work.is_isolated() {
        live.phase.returned_mut().withheld.extend(pins::changed(engine, work));
    }
    let recorder = Box::new(Recorder::new(&check_location(engine, work)));
    AttemptStep::Check { index: 0, recorder }
}

/// Takes checks that need no process, up to one that does.
pub(super) fn check(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
    mut index: usize,
    recorder: Box<Recorder>,
) -> AttemptStep {
    while let Some(check) = work.spec().checks.get(index) {
        let Some(seen) = verify::look(check, &check_location(engine, work), &recorder) else {
            return start(engine, work, live, index, recorder);
        };
        let checked = after_check(work.spec(), index, seen);
        live.phase.returned_mut().seen.extend(checked.seen);
        match checked.next {
            Some(next) => index = next,
            None => break,
        }
    }
    if isolated::has_moved_on(engine, work, live) {
        live.phase.returned_mut().seen.clear();
        return begin(engine, work, live);
    }
    AttemptStep::Conclude
}

fn start(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    live: &mut Live,
    index: usize,
    recorder: Box<Recorder>,
) -> AttemptStep {
    let number = engine.processes.next_number();
    let check = &work.spec().checks[index];
    let deadline_ms = engine.now_ms().saturating_add(millis(limits::CHECK_TIMEOUT));
    if live.parkings == 0 {
        let command = &check.command.join(" ");
        engine.observer.report(TaskProgress::Checking { task: work.name(), command });
    }
    let attempt = live.start.attempt.id.clone();
    let marker = Marker { attempt, owner: engine.settings.launcher.identity() };
    let prepared = prepare(check, &check_location(engine, work), marker, &recorder);
    let PreparedCheck { spec, mut hidden, ran, problem } = prepared;
    // What the executor was given may be in files that a check prints.
    hidden.add_all(&live.start.hidden);
    let is_impossible = problem.is_some();
    let mut watched = Box::new(CheckOutput::new(&hidden, ran));
    watched.problem = problem;
    let process = RunningProcess { number, deadline_ms };
    live.phase.returned_mut().step = ReturnStep::Checking { process, index, watched, recorder };
    if is_impossible { AttemptStep::CheckEnded } else { started(engine.processes.start(number, spec)) }
}

pub(super) fn check_ended(engine: &EngineRun<'_>, work: &TaskWork, live: &mut Live) -> AttemptStep {
    let is_stopped = live.stopped.is_some();
    let returned = live.phase.returned_mut();
    let step = std::mem::replace(&mut returned.step, ReturnStep::Deciding);
    let ReturnStep::Checking { index, mut watched, mut recorder, .. } = step else {
        return AttemptStep::Wait;
    };
    if let Some(ran) = &mut watched.ran {
        recorder.after(&check_location(engine, work), ran);
    }
    let seen = watched.finish(&work.spec().checks[index]);
    let checked = after_check(work.spec(), index, seen);
    returned.seen.extend(checked.seen);
    match checked.next {
        Some(index) if !is_stopped => AttemptStep::Check { index, recorder },
        _ => AttemptStep::Conclude,
    }
}

/// What follows a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AfterCheck {
    /// Its result, and those of checks that are not run because of it.
    pub(super) seen: Vec<CheckSeen>,
    /// The next check; `None` if this one decides the attempt.
    pub(super) next: Option<usize>,
}

/// Why a check of a checkpoint was not run.
const CHECKPOINT_OVER: &str = "not run: another check of the checkpoint failed before";

pub(super) fn after_check(spec: &PlanTask, index: usize, mut seen: CheckSeen) -> AfterCheck {
    if seen.passed {
        return AfterCheck { seen: vec![seen], next: Some(index + 1) };
    }
    let tolerated = match checkpoint::recovery(&spec.checkpoints, index) {
        Recovery::Retry | Recovery::Abort => return AfterCheck { seen: vec![seen], next: None },
        Recovery::Continue => true,
        Recovery::Report => false,
    };
    seen.tolerated = tolerated;
    let rest = checkpoint::not_run(&spec.checkpoints, index, spec.checks.len());
    let not_run = |check| CheckSeen { tolerated, ..CheckSeen::not_run(check, CHECKPOINT_OVER) };
    let all: Vec<CheckSeen> = std::iter::once(seen).chain(spec.checks[rest].iter().map(not_run)).collect();
    AfterCheck { next: Some(index + all.len()), seen: all }
}
