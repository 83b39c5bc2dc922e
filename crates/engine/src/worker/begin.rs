//! What is made before the command of an assignment is started: its files, its environment and its sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;

use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::token::LockToken;
use contract::secrets::Hidden;
use ops::assignment::show;
use ops::{Context, Result};

use super::WorkerSettings;
use super::files::PacketFiles;
use super::turn::{WorkerTurn, note};
use super::written;
use crate::program::{ProgramAttempt, ProgramLaunch, not_confined};
use crate::sandbox::OpenSandbox;

/// What is there before the command is started.
pub(super) struct PreparedAssignment<'w> {
    pub(super) before: Option<Snapshot>,
    pub(super) files: PacketFiles,
    pub(super) attempt: ProgramAttempt,
    pub(super) launch: ProgramLaunch,
    /// Its sandbox, if it has one.
    pub(super) opened: Option<OpenSandbox<'w>>,
}

pub(super) fn begin<'w>(
    worker: &'w WorkerSettings,
    cx: &mut Context,
    turn: &WorkerTurn,
    command: &str,
) -> Result<PreparedAssignment<'w>> {
    let programs = &worker.programs;
    let attempt = ProgramAttempt::new(cx, &turn.stored_task, hidden(&turn.token))?;
    let directories = programs.directories(&turn.stored_task, &turn.task_id, &worker.session.caller)?;
    let place = programs.temporary(directories.as_ref())?;
    let files = PacketFiles::write(&place, &attempt.id, &turn.packet)?;
    let mut launch = ProgramLaunch {
        argv: worker.command.clone(),
        directory: worker.workspace.clone(),
        environment: environment(worker, turn, &files),
        input: format!("{}\n", turn.packet).into_bytes(),
        timeout: worker.bounds.timeout,
        sandbox: None,
    };
    let scopes = turn.scopes();
    let opened =
        directories.map(|directories| directories.open(&scopes, (&launch.argv, &mut launch.environment)));
    let opened = opened.transpose().map_err(|reason| not_confined(&reason))?;
    launch.sandbox = opened.as_ref().map(OpenSandbox::sandbox);
    note(worker, cx, turn, "begin", written::begun(command))?;
    Ok(PreparedAssignment { before: snapshot(worker, cx, turn)?, files, attempt, launch, opened })
}

/// The token of the command, and its proof alone: its owner acts as this worker.
pub(super) fn hidden(token: &LockToken) -> Hidden {
    let mut hidden = Hidden::default();
    if let Some(proof) = token.proof() {
        hidden.add(&token.to_string());
        hidden.add(proof);
    }
    hidden
}

/// The files in scope before the command began.
fn snapshot(worker: &WorkerSettings, cx: &mut Context, turn: &WorkerTurn) -> Result<Option<Snapshot>> {
    let request = show::Request { run: worker.run.clone(), task: turn.task_id.clone() };
    Ok(show::show(cx, &request)?.snapshot)
}

fn environment(
    worker: &WorkerSettings,
    turn: &WorkerTurn,
    files: &PacketFiles,
) -> BTreeMap<OsString, OsString> {
    let mut environment = worker.programs.environment.clone();
    // What the command calls must find the same store, under the same identity.
    let own: [(&str, OsString); 11] = [
        ("WRIT_DB", worker.programs.store.clone().into_os_string()),
        ("WRIT_AGENT", worker.session.caller.agent.as_str().into()),
        ("WRIT_OUTPUT", "json".into()),
        ("WRIT_RUN", turn.stored_run.clone().into()),
        ("WRIT_TASK", turn.stored_task.clone().into()),
        ("WRIT_RUN_ID", worker.run.clone().into()),
        ("WRIT_TASK_ID", turn.task_id.clone().into()),
        ("WRIT_ASSIGNMENT", turn.token.to_string().into()),
        ("WRIT_PACKET", files.packet().into_os_string()),
        ("WRIT_RESULT", files.result().into_os_string()),
        ("WRIT_WORKSPACE", turn.workspace.clone().into()),
    ];
    environment.extend(own.map(|(name, value)| (name.into(), value)));
    environment
}
