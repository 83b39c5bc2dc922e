//! Calls of a task's program from inside its sandbox: the socket it has, and what it reports over it.

use std::io;
use std::path::PathBuf;

use contract::continuity::state::CloseOutcome;
use contract::domain::attempt::NewAttempt;
use contract::domain::crew::reference_of;
use ops::Result;
use ops::inside::{ActsFor, InsideTask};

use super::Dispatcher;
use super::engine_run::EngineRun;
use super::live::{AttemptPhase, Live};
use super::task_work::TaskWork;
use crate::executor::{ResponseReport, Stopped, failure};
use crate::inside::InsideCaller;
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::sandbox::{ConfinedChild, SandboxRequest, bind_anew};
use crate::settings::Settings;

/// The caller inside a task's sandbox, and the rights that it can pass on.
pub(super) fn inside(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &NewAttempt,
    wanted: &SandboxRequest<'_>,
    confined: &ConfinedChild,
) -> InsideCaller {
    let part = work.part();
    let caller = InsideTask {
        task_id: attempt.task_id.clone(),
        name: part.spec.id.clone(),
        reference: reference_of(part.number).to_string(),
        acts: ActsFor::Run { run_id: attempt.run_id.clone(), depth: engine.run.asked.depth },
    };
    InsideCaller::of(caller, Some(attempt.id.clone()), wanted, confined)
}

/// Opens the socket of a sandboxed task, so that its program can call writ from the start.
pub(super) fn open_door(settings: &Settings, live: &mut Live) -> io::Result<()> {
    let Some(doors) = settings.doors.as_ref() else { return Ok(()) };
    let executor = live.phase.executor();
    let sandbox = executor.launch.confinement.sandbox.as_ref();
    let socket = sandbox.and_then(|sandbox| sandbox.socket.as_ref()).map(PathBuf::from);
    let (Some(socket), Some(inside)) = (socket, live.start.inside.clone()) else { return Ok(()) };
    // One that was parked had it open before.
    executor.door = None;
    executor.door = Some(doors.open(bind_anew(&socket)?, inside)?);
    Ok(())
}

/// Cancels what the program delegated if it was stopped for good. A signal to writ only stops it all, to be continued.
pub(super) fn end_delegated_of_stopped(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    stopped: Option<Stopped>,
) -> Result<()> {
    let ended = match stopped {
        Some(Stopped::Canceled) => "was canceled",
        Some(Stopped::Timeout) => "ran into its timeout",
        Some(Stopped::Silence) => "gave no sign of life",
        Some(Stopped::Fenced) => "lost its locks",
        Some(Stopped::Interrupted) | None => return Ok(()),
    };
    end_delegated(engine, work, ended)
}

/// The same for a program that failed.
pub(super) fn end_delegated_of_failed(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    stopped: Option<Stopped>,
    claim: &ExecutorClaim,
) -> Result<()> {
    match (stopped, claim) {
        (None, ExecutorClaim::Failure { code, .. }) => {
            end_delegated(engine, work, &format!("failed with {code}"))
        }
        _ => Ok(()),
    }
}

fn end_delegated(engine: &mut EngineRun<'_>, work: &TaskWork, ended: &str) -> Result<()> {
    let id = &work.task.id;
    engine.patiently(|engine| ops::run::cancel::delegated(engine.cx, &engine.caller, id, ended))?;
    Ok(())
}

/// What the program reported with `writ task complete` while it ran. It is no more than a claim.
pub(super) fn with_report(
    engine: &mut EngineRun<'_>,
    attempt: &NewAttempt,
    reported: &mut ResponseReport,
    claim: ExecutorClaim,
) -> Result<ExecutorClaim> {
    let report = ops::task::complete::reported(engine.cx, &attempt.task_id, &attempt.id)?;
    let Some(report) = report else { return Ok(claim) };
    reported.summary.get_or_insert(report.summary);
    Ok(match (report.outcome, claim) {
        (CloseOutcome::Blocked, ExecutorClaim::Success) => {
            failure("E_UNKNOWN", format!("reported as blocked: {}", report.reason))
        }
        (_, claim) => claim,
    })
}

impl Dispatcher<'_> {
    /// Counts heartbeats that programs sent with `writ heartbeat`.
    pub(super) fn hear_heartbeats(&mut self, now_ms: i64) -> Result<()> {
        let (cx, mut heard) = (&mut *self.engine.cx, Ok(()));
        self.tasks.for_each_live(|live| {
            let AttemptPhase::Working(executor) = &mut live.phase else { return };
            if heard.is_err() || executor.beats.is_none() {
                return;
            }
            match ops::run::journal::last_heartbeat(cx, &live.start.attempt.id) {
                Ok(last) if last.is_some() && last != executor.heartbeat => {
                    executor.heartbeat = last;
                    live.sign(now_ms);
                }
                Ok(_) => {}
                Err(error) => heard = Err(error),
            }
        });
        heard
    }
}
