//! The executor of an attempt has ended: what it claims, what it cost, what it was denied, and what it changed.

use ops::Result;

use super::{AttemptStep, checks, reports};
use crate::dispatcher::engine_run::EngineRun;
use crate::dispatcher::leftovers::Leftover;
use crate::dispatcher::live::{AttemptPhase, AttemptReturn, AttemptStart, Live, ReturnStep};
use crate::dispatcher::task_work::TaskWork;
use crate::dispatcher::{advice, calls, claims, confined, cost, inputs, isolated, limited, pins, watching};
use crate::executor::{ChildEnd, Returned, forced_failure, with_denial};
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::sandbox::leave_repository;
use crate::supervisor::logs::LogWriter;

/// Reads the end of the executor and goes on with the checks. `is_shared`: another live task may commit in the same
/// repository.
pub(super) fn returned(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
    is_shared: bool,
) -> Result<AttemptStep> {
    calls::end_delegated_of_stopped(engine, work, live.stopped)?;
    let mut returned = read_end(engine, work, live)?;
    let (start, stopped) = (&live.start, live.stopped);
    returned.withheld.extend(leave_sandbox(engine, work, start, is_shared));
    // Before the checks: what they leave behind is not the task's.
    claims::look_at_files(engine, work, start, &mut returned.claims);
    returned.outside = watching::end(engine, work, start.held_to(&returned.ended), stopped)?;
    let succeeded = returned.claim == ExecutorClaim::Success;
    if succeeded && work.is_isolated() {
        // Before the work of others comes in.
        returned.withheld.extend(pins::changed(engine, work));
        isolated::bring_together(engine, work, &start.attempt.id);
        returned.outside = isolated::outside_of_clone(engine, work);
    }
    live.phase = AttemptPhase::Returned(Box::new(returned));
    Ok(if succeeded { checks::begin(engine, work, live) } else { AttemptStep::Conclude })
}

/// What the executor claims, and whether that can be true.
fn read_end(engine: &mut EngineRun<'_>, work: &mut TaskWork, live: &mut Live) -> Result<AttemptReturn> {
    let (mut ended, digests) = close(engine, live);
    let mut events = Vec::new();
    let executor = live.phase.executor();
    executor.lines.finish(|line| events.extend(executor.reader.line(line)));
    reports::warn(engine.observer, work.name(), live, &events);
    let executor = live.phase.executor();
    let returned = executor.reader.end(&ended);
    let Returned { claim, mut reported, mut claims, agent_session, limited, session_total } = returned;
    note_denials(engine, work, live, &mut ended);
    let executor = live.phase.executor();
    let silences = executor.beats.as_ref().and_then(crate::beats::Beats::missed);
    let start = &live.start;
    let limited = limited.and_then(|limited| limited::with_resource(&start.attempt, limited));
    claims.warnings.splice(0..0, live.warnings.drain(..));
    let cost_basis = cost::find(engine.settings, &start.attempt, &ended, &mut reported);
    let claim = match forced_failure(&ended, start.timeout) {
        Some(claim) => claim,
        None => {
            let claim = with_denial(claim, &ended);
            calls::with_report(engine, &start.attempt, &mut reported, claim)?
        }
    };
    let claim = inputs::with_unchanged(engine, work, &start.inputs, claim);
    claims.warnings.extend(inputs::access_without_effect(work.spec(), &ended));
    calls::end_delegated_of_failed(engine, work, live.stopped, &claim)?;
    Ok(AttemptReturn {
        step: ReturnStep::Deciding,
        ended,
        digests,
        claim,
        claims,
        reported,
        cost_basis,
        agent_session,
        session_total,
        limited,
        silences,
        outside: None,
        withheld: Vec::new(),
        seen: Vec::new(),
    })
}

/// Closes the socket and the log: the program and what it called have ended. Returns the digests of its output.
fn close(engine: &EngineRun<'_>, live: &mut Live) -> (ChildEnd, Option<(String, String)>) {
    let stopped = live.stopped;
    let executor = live.phase.executor();
    executor.door = None;
    let summary = executor.log.take().map(LogWriter::finish);
    let ended = std::mem::take(&mut executor.ended);
    let ended = ChildEnd { stopped, at: Some(engine.cx.now().at), ..ended };
    (ended, summary.map(|summary| (summary.stdout_digest, summary.stderr_digest)))
}

/// Adds what the sandbox denied to the end of an attempt, and what would allow it.
fn note_denials(engine: &EngineRun<'_>, work: &TaskWork, live: &mut Live, ended: &mut ChildEnd) {
    let denials = &mut live.phase.executor().denials;
    let is_sandboxed = ended.in_force.as_ref().is_some_and(|in_force| in_force.sandbox.is_some());
    let printed = is_sandboxed.then(|| denials.told()).flatten();
    let printed = printed.map(|told| {
        let advice = advice::on_files(engine, work, denials).unwrap_or_default();
        live.start.hidden.one_line(&format!("{told}{advice}"))
    });
    ended.note_denied(printed);
    advice::on_network(engine, ended);
}

/// Removes what an attempt's sandbox leaves behind. Returns why its evidence is withheld.
fn leave_sandbox(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    start: &AttemptStart,
    is_shared: bool,
) -> Option<String> {
    let (task, attempt) = (work.task.id.to_string(), start.attempt.id.to_string());
    engine.leave(Leftover::OfAttempt { task, attempt });
    let may_commit = confined::may_commit(engine, work) && !is_shared;
    (may_commit && leave_repository(work.directory(&engine.run)))
        .then(|| "it made git take its configuration from elsewhere, which was undone".to_owned())
}
