//! The sandbox of a task: what is asked for, what this machine can do, and what its executor gets.

use std::path::Path;

use contract::domain::attempt::NewAttempt;
use contract::domain::confinement::{GitUse, SandboxMode};
use contract::domain::failure_code::FailureCode;
use contract::domain::reason::Reason;

use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use super::{calls, directories, inputs};
use crate::inside::InsideCaller;
use crate::sandbox::{self, SandboxRequest};
use crate::supervisor::LaunchSpec;

/// What is asked for the sandbox of a task.
pub(crate) fn wanted<'w>(engine: &'w EngineRun<'_>, work: &'w TaskWork) -> SandboxRequest<'w> {
    let origin = work.is_isolated().then_some(Path::new(&engine.run.asked.workspace));
    SandboxRequest::of_task(work.spec(), engine.settings, origin)
}

/// Whether the task's processes will be in a sandbox.
pub(super) fn is_confined(engine: &EngineRun<'_>, work: &TaskWork) -> bool {
    let wanted = wanted(engine, work);
    match wanted.mode {
        SandboxMode::Off => false,
        SandboxMode::Enforce => true,
        SandboxMode::Prefer => {
            wanted.refusal(work.directory(&engine.run)).is_none()
                && engine.settings.launcher.sandbox_lacks().is_none()
        }
    }
}

/// Why a sandbox that is demanded for the task cannot be had on this machine.
pub(super) fn sandbox_refusal(engine: &EngineRun<'_>, work: &TaskWork) -> Option<Reason> {
    let wanted = wanted(engine, work);
    if wanted.mode != SandboxMode::Enforce {
        return None;
    }
    let lacks = || {
        engine.settings.launcher.sandbox_lacks().map(|lacks| format!("this machine does not have: {lacks}"))
    };
    let reason = wanted.refusal(work.directory(&engine.run)).or_else(lacks)?;
    let reason = format!("sandbox = \"enforce\" is not possible here: {reason}");
    Some(Reason::coded(FailureCode::PermissionDenied, reason))
}

/// Makes the task's directories, adds its sandbox to the launch, and returns the caller inside it. The error
/// is why it must not be started.
pub(super) fn confine(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &NewAttempt,
    spec: &mut LaunchSpec,
) -> Result<Option<InsideCaller>, String> {
    let directory = work.directory(&engine.run);
    directories::make(directory, work.spec().directories())?;
    let settings = &engine.settings.sandbox;
    let held = inputs::held_inputs(engine, work);
    let wanted = SandboxRequest { files: Some(&work.spec().files), held: &held, ..wanted(engine, work) };
    let private = settings.private_of_attempt(attempt.task_id.as_str(), &attempt.id.to_string());
    let private = if engine.settings.doors.is_some() { private.with_socket() } else { private };
    let confined = sandbox::of_child(settings, &wanted, (directory, &private), (&spec.argv, &mut spec.env));
    let confined = confined.map_err(|reason| format!("could not confine the executor: {reason}"))?;
    let Some(confined) = confined else { return Ok(None) };
    let inside = calls::inside(engine, work, attempt, &wanted, &confined);
    spec.confinement.sandbox = Some(confined.sandbox);
    Ok(Some(inside))
}

/// Whether the task's sandbox is open for commits.
pub(crate) fn may_commit(engine: &EngineRun<'_>, work: &TaskWork) -> bool {
    let wanted = wanted(engine, work);
    wanted.mode != SandboxMode::Off && wanted.git == GitUse::Commit
}
